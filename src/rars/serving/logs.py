"""What a server writes down: one JSON line a request, and one for whatever else happens.

Owns: the lines. Ignores who reads them. A line holds a route, never an address, a header or a body: nothing
that a client sent stands in it but the id of the request, if that is harmless. So no key can.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from rars.serving.keys import MARK

_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")


def harmless(request_id: str) -> bool:
    """Whether an id that a client gave may be used as it is; one that holds a key may not."""
    return _HARMLESS.fullmatch(request_id) is not None and MARK not in request_id


class Log:
    """Lines on a stream; one that is full or gone hinders nobody."""

    def __init__(self, stream: TextIO | None = None, *, on: bool = True) -> None:
        self._stream = stream
        self._on = on

    def line(self, event: str, **facts: Any) -> None:
        """Write one line."""
        if not self._on:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"at": at, "event": event, **facts}, default=str)
        try:
            stream = self._stream or sys.stderr
            stream.write(text + "\n")
            stream.flush()
        except (OSError, ValueError):
            self._on = False

    def failure(self, error: BaseException, **facts: Any) -> None:
        """A defect of ours: its kind and where it was raised, in one line; never what it says."""
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = [f"{frame.name}:{frame.lineno}" for frame in frames]
        self.line("failure", error=type(error).__name__, where=where, **facts)


class Handler(logging.Handler):
    """What libraries log, as lines of the same kind."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """A warning or error of a library, without what it was about to quote."""
        self._log.line(
            "library", logger=record.name, level=record.levelname, said=str(record.msg)[:200]
        )
