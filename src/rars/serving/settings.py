"""What a server is told when it starts.

Owns: the names, defaults and bounds of all settings. ``rars serve`` has an option for each, and each is also
an environment variable: ``deadline_ms`` is ``--deadline-ms`` and ``RARS_SERVE_DEADLINE_MS``. Ignores what
the parts do with them.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

PREFIX = "RARS_SERVE_"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Settings(BaseModel):
    """Every setting of a server; the defaults suit one core and a person at the machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", description="The address to listen on; this machine alone.")
    port: int = Field(8080, ge=0, le=65_535, description="The port; 0 for any that is free.")
    keys: Path | None = Field(None, description="A file of keys, made by rars keys.")
    state: Path | None = Field(
        None, description="Where judgments are kept; serving/ in the first run if not given."
    )
    cors: tuple[str, ...] = Field(
        (), description="Origins whose pages may call the API; none if not given."
    )
    batch_rows: int = Field(
        3_200, ge=1, description="Beam rows (queries x width) that are searched together."
    )
    wait_ms: float = Field(2.0, ge=0, le=1_000, description="How long a query waits for others.")
    queue_rows: int = Field(51_200, ge=1, description="Beam rows that may wait.")
    degrade_at: float = Field(
        0.5, ge=0, le=1, description="The pressure from 0 to 1 at which beams become narrower."
    )
    narrow: float = Field(
        0.25, ge=0, le=1, description="The share of the beam that is left then; 1 for all of it."
    )
    deadline_ms: int = Field(2_000, ge=1, description="The most time that a search may take.")
    client_limit: int = Field(
        256, ge=0, description="Queries of one client that may wait at once; 0 for any number."
    )
    body_bytes: int = Field(1 << 20, ge=1, description="The largest request.")
    catalog_bytes: int = Field(64 << 20, ge=1, description="The largest change of a catalogue.")
    body_seconds: float = Field(30.0, gt=0, description="How long a request may take to arrive.")
    keep: int = Field(
        10, ge=0, description="Versions kept beside the one searched now, after each change."
    )
    open_versions: int = Field(2, ge=0, description="Other versions that stay opened.")
    poll_seconds: float = Field(
        1.0, ge=0, description="How often to look for a new version on disk; 0 for never."
    )
    drain_seconds: float = Field(10.0, ge=0, description="How long a stop waits for answers.")
    log: bool = Field(True, description="One JSON line a request, on stderr.")
    otlp: str | None = Field(
        None, description="Where OpenTelemetry spans go; nowhere if not given."
    )
    page: bool = Field(True, description="Serve the page too.")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK
