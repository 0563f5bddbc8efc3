"""Judgments that people give while they search: written down for good before they are acknowledged.

Owns: ``judgments.jsonl`` (one JSON line a judgment, appended and forced to disk), which of them stand, and
the tables that ``rars data import`` takes. Ignores HTTP.

A judgment is acknowledged after its line and the line's end are on disk. So a last line without an end was
never acknowledged: it is cut off when the file is opened again. Judgments that arrive while others are being
forced to disk go with the next force, all together.

Replicas of one server share the file: they append in turn, and each reads what the others wrote before it
writes or tells.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rars.data.schema import LABEL_GRADES
from rars.errors import RarsError
from rars.serving.schemas import Judgment
from rars.systems import cleaned

FILE = "judgments.jsonl"
TURN = ".judgments.turn"
"""Whoever holds its lock may append, among replicas."""
_LABELS = {grade: label for label, grade in LABEL_GRADES.items()}


@dataclass(frozen=True)
class Kept:
    """The last word of a user on an item for a query."""

    query: str
    item_id: str
    grade: float
    label: str | None
    user: str
    locale: str | None
    at: str


class JudgmentLog:
    """The file, opened for appending by this process alone, or by the replicas of one server (``shared``)."""

    def __init__(self, folder: Path, *, shared: bool = False) -> None:
        self.path = folder / FILE
        self._turn: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            if shared:
                self._turn = os.open(folder / TURN, os.O_RDWR | os.O_CREAT, 0o644)
            _force_folder(folder)
        except OSError as error:
            raise RarsError(f"{self.path} cannot be opened: {error.strerror}.") from error
        try:
            how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(self._file, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise RarsError(
                f"{self.path} is in use by another server; give this one another --state."
            ) from error
        self._standing: dict[tuple[str, str, str], Kept] = {}
        self.total = 0
        self._size = 0
        self._noting = threading.Lock()
        with self._my_turn():
            self._cut_off()
            self._catch_up()
        self._waiting: list[tuple[list[dict[str, Any]], asyncio.Future[int]]] = []
        self._writer = ThreadPoolExecutor(1, "rars-judgments")
        self._writing = False

    def close(self) -> None:
        """End what is being written, and let others have the file."""
        self._writer.shutdown()
        os.close(self._file)
        if self._turn is not None:
            os.close(self._turn)

    # -- writing -----------------------------------------------------------------------------------

    async def append(self, judgments: Sequence[Judgment]) -> int:
        """Write judgments; returns when they are on disk, with the number ever written."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        rows = [_row(one, at) for one in judgments]
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        if not self._writing:
            self._writing = True
            asyncio.get_running_loop().create_task(self._write_all())
        return await done

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                taken, self._waiting = self._waiting, []
                rows = [row for given, _ in taken for row in given]
                try:
                    await loop.run_in_executor(self._writer, self._force, rows)
                except OSError as error:
                    for _, done in taken:
                        if not done.done():
                            done.set_exception(error)
                    continue
                for _, done in taken:
                    if not done.done():
                        done.set_result(self.total)
        finally:
            self._writing = False

    def _force(self, rows: Sequence[dict[str, Any]]) -> None:
        """Append lines and force them to disk; a failure leaves the file as it was."""
        data = "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows).encode()
        with self._my_turn():
            before = self._cut_off()
            try:
                _write_whole(self._file, data)
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, before)
                raise
            self._catch_up()

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        """No other replica appends within this."""
        if self._turn is None:
            yield
            return
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _cut_off(self) -> int:
        """Remove a last line that has no end; the bytes that are left."""
        seen, size = self._size, os.fstat(self._file).st_size
        whole = seen + os.pread(self._file, size - seen, seen).rfind(b"\n") + 1
        if whole < size:
            os.ftruncate(self._file, whole)
            os.fsync(self._file)
        return whole

    # -- reading -----------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Note what was written since this was last done, by us or by other replicas."""
        with self._noting:
            size = os.fstat(self._file).st_size
            if size < self._size:  # a line that we saw was never forced to disk: its disk was full
                self._standing.clear()
                self.total = self._size = 0
            data = os.pread(self._file, size - self._size, self._size)
            whole = data.rfind(b"\n") + 1
            for line in data[:whole].splitlines():
                try:
                    self._note(json.loads(line))
                except (ValueError, KeyError, TypeError) as error:
                    raise RarsError(
                        f"{self.path}, line {self.total + 1}: this is no judgment."
                    ) from error
            self._size += whole

    def _note(self, row: dict[str, Any]) -> None:
        key = (cleaned(row["query"]), row["item_id"], row["user"])
        self.total += 1
        if row["grade"] is None:
            self._standing.pop(key, None)
            return
        grade = float(row["grade"])
        self._standing[key] = Kept(
            row["query"],
            row["item_id"],
            grade,
            _LABELS.get(grade),
            row["user"],
            row["locale"],
            row["at"],
        )

    def standing(self, *, query: str | None = None, user: str | None = None) -> Iterator[Kept]:
        """The judgments that stand, of one query text or user if named."""
        text = None if query is None else cleaned(query)
        self._catch_up()
        with self._noting:
            every = list(self._standing.items())
        for (asked, _, who), kept in every:
            if (text is None or asked == text) and (user is None or who == user):
                yield kept


def _row(one: Judgment, at: str) -> dict[str, Any]:
    grade = LABEL_GRADES[one.label] if one.label is not None else one.grade
    row = {"at": at, "query": one.query, "item_id": one.item_id, "grade": grade, "user": one.user}
    return row | {"locale": one.locale, "system": one.system, "rank": one.rank, "note": one.note}


def _write_whole(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _force_folder(folder: Path) -> None:
    """A new file is there for good once its folder is on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- tables ----------------------------------------------------------------------------------------


def query_id(text: str, locale: str | None, known: Callable[[str], Sequence[str]]) -> str:
    """The id of a query text: the dataset's, or one made from the text itself."""
    ids = known(text)
    if ids:
        return ids[0]
    digest = hashlib.sha256(f"{locale or ''}\0{cleaned(text)}".encode()).hexdigest()
    return f"web-{digest[:16]}"


def pairs(kept: Sequence[Kept], known: Callable[[str], Sequence[str]]) -> list[dict[str, Any]]:
    """One row a query and item: of several users' last words the middle one, the lower of two."""
    given: dict[tuple[str, str], list[float]] = {}
    for one in kept:
        key = (query_id(one.query, one.locale, known), one.item_id)
        given.setdefault(key, []).append(one.grade)
    return [
        {
            "query_id": query,
            "item_id": item,
            "grade": sorted(grades)[(len(grades) - 1) // 2],
            "users": len(grades),
        }
        for (query, item), grades in given.items()
    ]


def queries(kept: Sequence[Kept], known: Callable[[str], Sequence[str]]) -> list[dict[str, Any]]:
    """The queries of those pairs, with their texts."""
    found = {query_id(one.query, one.locale, known): one for one in kept}
    return [
        {"id": name, "text": one.query, "locale": one.locale or ""} for name, one in found.items()
    ]
