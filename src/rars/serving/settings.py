"""What a server is told when it starts.

Owns: the names, defaults and bounds of all settings. ``rars serve`` has an option for each, and each is also
an environment variable: ``deadline_ms`` is ``--deadline-ms`` and ``RARS_SERVE_DEADLINE_MS``. Ignores what
the parts do with them. Needs nothing but Python: the command line reads it for its help.
"""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from rars.errors import RarsError

PREFIX = "RARS_SERVE_"
ENGINES = ("local", "ray")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _set(default: Any, help: str, least: float | None = None, most: float | None = None) -> Any:
    """A setting with its bounds."""
    return field(default=default, metadata={"help": help, "least": least, "most": most})


@dataclass(frozen=True)
class Settings:
    """Every setting of a server; the defaults suit one core and a person at the machine."""

    host: str = _set("127.0.0.1", "The address to listen on.")
    port: int = _set(8080, "The port; 0 for any that is free.", 0, 65_535)
    keys: Path | None = _set(None, "A file of keys, made by rars keys.")  # noqa: RUF009
    state: Path | None = _set(  # noqa: RUF009
        None, "Where judgments are kept; serving/ in the first run if not given."
    )
    cors: tuple[str, ...] = _set((), "An origin whose pages may call the API; may be repeated.")
    threads: int = _set(1, "Threads of one search.", 1, 1_024)
    replicas: int = _set(1, "Processes that answer, behind one port.", 1, 1_024)
    engine: str = _set("local", "Where they are: local (this machine), or ray (a cluster).")
    batch_rows: int = _set(3_200, "Beam rows (queries x width) that are searched together.", 1)
    wait_ms: float = _set(2.0, "How long a query waits for others.", 0, 1_000)
    queue_rows: int = _set(51_200, "Beam rows that may wait.", 1)
    degrade_at: float = _set(0.5, "The pressure at which beams become narrower.", 0, 1)
    narrow: float = _set(0.25, "The share of a beam that is left then; 1 for all.", 0.01, 1)
    deadline_ms: int = _set(2_000, "The most time that a search may take.", 1)
    client_limit: int = _set(256, "Queries of one client that may wait; 0 for any number.", 0)
    body_bytes: int = _set(1 << 20, "The largest request.", 1)
    catalog_bytes: int = _set(64 << 20, "The largest change of a catalogue.", 1)
    body_seconds: float = _set(30.0, "How long a request may take to arrive.", 0.001)
    keep: int = _set(10, "Versions kept beside the one searched, after each change.", 0)
    open_versions: int = _set(2, "Other versions that stay opened.", 0)
    poll_seconds: float = _set(1.0, "How often to look for a new version; 0 for never.", 0)
    drain_seconds: float = _set(10.0, "How long a stop waits for answers.", 0)
    log: bool = _set(True, "Write one JSON line a request, on stderr.")
    otlp: str | None = _set(None, "Where OpenTelemetry spans go; nowhere if not given.")
    page: bool = _set(True, "Serve the page too.")

    def __post_init__(self) -> None:
        """Refuse what is out of bounds."""
        for one in fields(self):
            value, least, most = getattr(self, one.name), *_bounds(one)
            if (least is not None and not value >= least) or (most is not None and value > most):
                end = f"at least {least}" if most is None else f"between {least} and {most}"
                raise RarsError(f"{option(one.name)} must be {end}, not {value}.")
        if self.engine not in ENGINES:
            raise RarsError(f"--engine {self.engine!r} is unknown; choose {' or '.join(ENGINES)}.")
        if self.replicas > 1 and not self.poll_seconds:
            raise RarsError(
                "--poll-seconds 0 would leave all replicas but one on the old version after a change; "
                "give it a value."
            )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK


def _bounds(one: Field[Any]) -> tuple[float | None, float | None]:
    return one.metadata["least"], one.metadata["most"]


def option(name: str) -> str:
    """The option of a setting.

    >>> option("deadline_ms"), variable("deadline_ms")
    ('--deadline-ms', 'RARS_SERVE_DEADLINE_MS')
    """
    return f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()
