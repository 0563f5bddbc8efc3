"""Who does the pieces of a piece of work: the protocol, and the engine that needs nobody.

Owns: what an engine promises, what a call is, and how its end is told across processes. An engine calls one
function with each set of arguments and gives the results back in order; NumPy and torch have one thread
inside it, so that results do not depend on who has how many cores. A call that lost its process or its
node is made again, ``TRIES`` times in all; what the function itself refuses ends the work. So a function must
be one that may run twice: it writes a shard whole or not at all, and finds it done the second time.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from rars.errors import RarsError, Unavailable
from rars.scale.threads import alone

Call = Mapping[str, Any]
"""The arguments of a call; values that any process can be sent."""

TRIES = 4
"""How often a call is made before the work is given up, where processes or nodes are lost."""

AHEAD = 4
"""Calls a worker that may be begun or waiting to be fetched: what bounds memory."""


class Engine(Protocol):
    """Calls a function many times."""

    @property
    def workers(self) -> int:
        """How many calls run at a time, at most; 1 means in this process."""

    def share(self, seconds: float) -> int:
        """Among how many work is shared that would take one of them so many seconds."""

    def map(
        self, function: Callable[..., Any], calls: Iterable[Call], count: int | None = None
    ) -> Iterator[Any]:
        """The results, in the order of the calls, which are drawn as they are needed.

        ``function`` is one of a module, so that another process can import it; ``count`` is how many calls
        there are, where that is known.
        """


class Inline:
    """One call after the other, here."""

    workers = 1

    def share(self, seconds: float) -> int:
        """Nobody else is there."""
        return 1

    def map(
        self, function: Callable[..., Any], calls: Iterable[Call], count: int | None = None
    ) -> Iterator[Any]:
        """As the protocol says.

        >>> list(Inline().map(divmod_of, [{"a": 7, "b": 2}]))
        [(3, 1)]
        """
        for call in calls:
            with alone():
                found = function(**call)
            yield found


INLINE = Inline()


def divmod_of(a: int, b: int) -> tuple[int, int]:
    """A function to try an engine with."""
    return divmod(a, b)


# -- ends that cross processes ---------------------------------------------------------------------

End = tuple[str, Any]
"""How a call ended: ``done`` and its result, or a kind of error and what it says."""

_ERRORS: dict[str, type[Exception]] = {
    "unavailable": Unavailable,
    "refused": RarsError,
    "memory": MemoryError,
    "failed": RuntimeError,
}


def ended(function: Callable[..., Any], call: Call) -> End:
    """Make a call; an error becomes plain values, since an exception may not survive the way back."""
    try:
        with alone():
            return "done", function(**call)
    except Unavailable as error:
        return "unavailable", str(error)
    except RarsError as error:
        return "refused", str(error)
    except MemoryError as error:
        return "memory", str(error)
    except Exception:
        return "failed", traceback.format_exc()


def opened(end: End) -> Any:
    """The result of a call, or its error raised here."""
    how, value = end
    if how == "done":
        return value
    raise _ERRORS[how](value)


def lost(number: int, why: str) -> RarsError:
    """What is said when a call loses its process again and again."""
    return RarsError(
        f"Shard {number} lost its process {TRIES} times ({why}); if memory ran out, use fewer --workers."
    )
