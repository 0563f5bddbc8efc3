"""Long loops that go on after a kill: what they need for that, in the cache until they are done.

Owns: keeping the state of a loop every so often, whole or not at all, and finding it again. The place is
named by a digest of everything the loop depends on, so what is found there is its own. Ignores the loops: who
puts back weights, optimiser and generators exactly as they were ends at the same bits as without a kill.

Trainings of a run keep checkpoints in its folder (``rars.training.checkpoint``); this is for what is learned
before there is a run: fine-tuned encoders, an RQ-VAE.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rars import artifacts, disk, locks
from rars.errors import RarsError
from rars.places import cache_folder

if TYPE_CHECKING:
    from rars.tensors import Named

KIND = "unfinished work"
SECONDS = 60.0
"""Between two times that a state is kept."""
_SHARE = 0.05
"""Of the time, what keeping may take: large states are kept less often."""
_OLD = 14 * 24 * 3600.0
"""Seconds after which nobody is expected to go on with what was left."""
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class State:
    """What a loop kept: plain JSON values, and named tensors by part."""

    facts: Mapping[str, Any]
    parts: Mapping[str, Named]


@dataclass(eq=False)
class Unfinished(AbstractContextManager["Unfinished"]):
    """A loop's place; ``with`` it, the state is removed when the block ends well, and stays otherwise.

    A second process at the same work keeps nothing and finds nothing: it does not wait, and disturbs nobody.

    ``folder``   None: nothing is kept
    ``seconds``  at least, between two times
    """

    folder: Path | None = None
    seconds: float = SECONDS
    _last: float = field(default_factory=time.monotonic)
    _stack: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def of(
        cls, what: str, made_of: object, *, cache: Path | None = None, seconds: float | None = None
    ) -> Unfinished:
        """The place of work that depends on ``made_of`` (JSON values) and on nothing else."""
        name = disk.digest_json([_FORMAT, what, made_of])[:32]
        folder = (cache or cache_folder()) / "unfinished" / name
        return cls(folder, SECONDS if seconds is None else seconds)

    def __enter__(self) -> Self:
        if os.environ.get("RANK", "0") != "0":  # of several that work together the first keeps it
            self.folder = None
        if self.folder is not None:
            try:
                self._stack.enter_context(locks.held(self.folder))
                _sweep(self.folder.parent)
            except RarsError:  # somebody is at it, or the cache cannot be written
                self.folder = None
        self._last = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.folder is not None and error is None:
            disk.discard(self.folder)
        self._stack.close()

    def found(self) -> State | None:
        """What was kept; None where there is nothing, or nothing that is whole."""
        if self.folder is None or not self.folder.exists():
            return None
        from rars import tensors  # brings torch

        try:
            artifact = artifacts.opening(self.folder, kind=KIND)
            with artifacts.understood(self.folder):
                parts = {
                    name: tensors.read(artifact.folder / f"{name}.safetensors")
                    for name in artifact.meta["parts"]
                }
                return State(artifact.meta["facts"], parts)
        except RarsError:
            return None

    @property
    def due(self) -> bool:
        """Whether it is time to keep the state."""
        return self.folder is not None and time.monotonic() - self._last >= self.seconds

    def keep(self, facts: Mapping[str, Any], **parts: Named) -> None:
        """Put a state in the place of the last one; where it cannot be written, the work goes on without."""
        if self.folder is None:
            return
        from rars import tensors  # brings torch

        start = time.monotonic()
        try:
            with artifacts.writing(self.folder, kind=KIND) as draft:
                for name, named in parts.items():
                    tensors.write(draft.folder / f"{name}.safetensors", named)
                draft.meta.update(facts=dict(facts), parts=list(parts))
        except RarsError:
            disk.discard(self.folder)
            self.folder = None
        self._last = time.monotonic()
        self.seconds = max(self.seconds, (self._last - start) / _SHARE)


def _sweep(home: Path) -> None:
    """Remove what killed processes left of states, and states that nobody went on with."""
    disk.sweep(home, "")
    for path in home.iterdir() if home.is_dir() else ():
        if path.is_dir() and time.time() - path.stat().st_mtime > _OLD and locks.is_free(path):
            disk.discard(path)
