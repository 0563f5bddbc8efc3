"""Everything that a server can be asked, whoever asks: the API, the page, tools.

Owns: bringing questions to the queue and answers back, judgments, changes of a catalogue and the switch to
its new version. Ignores HTTP. Answers are plain JSON values in the shapes of ``rars.serving.schemas``.

Searches go through one queue to one thread. Changes of a catalogue have a thread of their own; when one is on
disk, the new version takes the place of the old: a batch that has begun finishes on the old one, and the next
begins on the new one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rars.errors import RarsError
from rars.serving import answers, changes
from rars.serving.answers import Search, query_of, search_all
from rars.serving.batching import Batcher, Job
from rars.serving.judged import DEEP, NAMES, Asked, Judged, measured
from rars.serving.judgments import JudgmentLog, pairs, queries, query_id
from rars.serving.measuring import Key, Table, Tables
from rars.serving.metrics import Metrics
from rars.serving.refusals import Refused, bad_request, of_error
from rars.serving.schemas import (
    DiffRequest,
    ExplainRequest,
    Judgment,
    QueriesRequest,
    Question,
    RollbackRequest,
    SearchRequest,
    TreeRequest,
)
from rars.serving.settings import Settings
from rars.serving.systems import Opened, Systems
from rars.systems import Query

T = TypeVar("T")

FOLDER = "serving"
"""Where a server keeps judgments, in its first run."""


@dataclass(frozen=True)
class Caller:
    """Who asks: ``client`` is what limits count by."""

    client: str = ""
    request_id: str = ""


NOBODY = Caller()


class Engine:
    """The systems of a server, its queue, and what it keeps."""

    def __init__(
        self, systems: Systems, settings: Settings, metrics: Metrics | None = None
    ) -> None:
        self.systems, self.settings = systems, settings
        self.metrics = metrics or Metrics()
        self.judged = _judged(systems.now())
        state = settings.state or Path(systems.now().run.folder) / FOLDER
        self.judgments = JudgmentLog(state, shared=settings.replicas > 1)
        self.batcher = Batcher(self._work, settings, self.metrics)
        self.metrics.watch(self)
        self._changing = ThreadPoolExecutor(1, "rars-changes")
        self._tables = Tables(self._measured)
        self._poll: asyncio.Task[None] | None = None
        self.status = "starting"

    async def start(self) -> None:
        """Begin to answer; each system has answered once when this returns."""
        self.batcher.start()
        for name in self.systems.names:
            with suppress(Refused):
                await self.search(SearchRequest(query="a", system=name, timeout_ms=600_000))
        self.batcher.forget()
        if self.settings.poll_seconds:
            self._poll = asyncio.create_task(self._watch_disk())
        self.status = "ok"

    async def stop(self) -> None:
        """Refuse what is new, finish what was begun, and let go of everything."""
        self.status = "draining"
        if self._poll is not None:
            self._poll.cancel()
        self._tables.close()
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self.batcher.stop, self.settings.drain_seconds)
        await loop.run_in_executor(None, self._changing.shutdown)
        self.judgments.close()
        self.systems.close()

    # -- searching ---------------------------------------------------------------------------------

    async def search(self, asked: SearchRequest, caller: Caller = NOBODY) -> dict[str, Any]:
        """The answer of one search."""
        begun = time.perf_counter()
        opened = await self._opened(asked)
        query = query_of(asked, explain=asked.explain)
        rows = opened.rows(query) * (2 if asked.explain else 1)
        found, queued = await self._do(
            _target(asked, opened), Search(asked, query), rows, asked, caller
        )
        took = found["timings"]
        found["timings"] = {
            "queue": 1e3 * queued,
            "search": 1e3 * took["search"],
            "show": 1e3 * took["show"],
            "total": 1e3 * (time.perf_counter() - begun),
            "batch": took["batch"],
        }
        self.metrics.searched(found)
        answer: dict[str, Any] = {**found, "request_id": caller.request_id}
        return answer

    async def search_batch(
        self, asked: Sequence[SearchRequest], caller: Caller = NOBODY
    ) -> list[dict[str, Any]]:
        """An entry for every search, in order; what is wrong with one is said of it alone."""

        async def one(request: SearchRequest) -> dict[str, Any]:
            try:
                return {"status": 200, "result": await self.search(request, caller), "error": None}
            except Refused as refused:
                return {"status": refused.status, "result": None, "error": refused.as_dict()}

        return list(await asyncio.gather(*map(one, asked)))

    async def explain(self, asked: ExplainRequest, caller: Caller = NOBODY) -> dict[str, Any]:
        """Why an item was found, or why not."""
        return await self._call(answers.explained, asked, caller, asked, times=3)

    async def tree(self, asked: TreeRequest, caller: Caller = NOBODY) -> dict[str, Any]:
        """The branches below a prefix as a query sees them."""
        return await self._call(
            lambda opened, question: answers.branches(opened, question, self.judged),
            asked,
            caller,
            asked,
            times=2,
        )

    async def item(
        self,
        item_id: str,
        system: str | None = None,
        version: str | None = None,
        caller: Caller = NOBODY,
    ) -> dict[str, Any]:
        """All that the catalogue has of an item."""
        asked = Question(query="", k=1, system=system, version=version)
        return await self._call(answers.item, asked, caller, item_id)

    async def describe(self) -> list[dict[str, Any]]:
        """What can be asked."""
        return await self._change(self._described)

    def _described(self) -> list[dict[str, Any]]:
        found = []
        for at, name in enumerate(self.systems.names):
            opened = self.systems.now(name)
            versions = self.systems.versions(opened)
            found.append({**opened.described, "default": at == 0, "versions": versions})
        return found

    # -- the queue ---------------------------------------------------------------------------------

    async def _opened(self, asked: Question) -> Opened:
        """The system a question is for; one over another version is opened first."""
        known = self.systems.known(asked.system, asked.version)
        if known is not None:
            return known
        assert asked.version is not None
        return await self._change(partial(self.systems.at, asked.system, asked.version))

    async def _do(
        self, target: Hashable, what: Any, rows: int, asked: Question, caller: Caller
    ) -> tuple[Any, float]:
        timeout = min(asked.timeout_ms or self.settings.deadline_ms, self.settings.deadline_ms)
        if self.status == "starting":
            timeout = asked.timeout_ms or timeout
        job = Job(target, what, rows, timeout / 1e3, caller.client)
        found: tuple[Any, float] = await self.batcher.do(job)
        return found

    async def _call(
        self,
        answer: Callable[[Opened, Any], dict[str, Any]],
        asked: Question,
        caller: Caller,
        what: Any,
        times: int = 1,
    ) -> dict[str, Any]:
        """A question that is answered alone, ``times`` the work of a search."""
        opened = await self._opened(asked)
        rows = times * opened.rows(Query(" ", asked.k, exact=asked.exact))
        target = _target(asked, opened)
        found, _ = await self._do(("alone", target, object()), (answer, what), rows, asked, caller)
        return {**found, "request_id": caller.request_id}

    def _work(self, target: Hashable, asked: Sequence[Any], *, narrow: bool) -> list[Any]:
        """In the searching thread: one batch, all of it by one version."""
        if isinstance(target, tuple):
            _, inner, _ = target
            [(answer, what)] = asked
            return [answer(self._resolved(inner), what)]
        return list(search_all(self._resolved(target), asked, self.judged, narrow=narrow))

    def _resolved(self, target: Hashable) -> Opened:
        if isinstance(target, Opened):
            return target
        assert isinstance(target, str)
        return self.systems.now(target)

    # -- judged queries ----------------------------------------------------------------------------

    async def judged_queries(self, asked: QueriesRequest) -> dict[str, Any]:
        """Judged queries of the dataset; with systems named, their measures as far as they are known."""
        measure = asked.measure
        if measure not in NAMES:
            known = ", ".join(NAMES)
            raise bad_request(f"There is no measure {measure!r}; choose {known}.", "measure")
        every = [] if self.judged is None else self.judged.queries
        chosen = [one for one in every if one.judged and asked.split in (None, one.split)]
        tables = [await self._table(side, asked, chosen) for side in _sides(asked)]
        wanted = asked.text.casefold().strip()
        listed = [_listed(one, tables, measure) for one in chosen if wanted in one.text.casefold()]
        if asked.sort in _ORDERS and tables:
            listed.sort(key=lambda one: _ORDERS[asked.sort](one, measure))
        progress = min((table.progress for table in tables), default=1.0)
        return {
            "queries": listed[asked.offset : asked.offset + asked.limit],
            "total": len(listed),
            "measure": measure,
            "complete": progress >= 1.0,
            "progress": progress,
        }

    async def _table(self, side: Question, asked: QueriesRequest, chosen: Sequence[Asked]) -> Table:
        opened = await self._opened(side)
        rule = side.rule or opened.system.rules[0]
        try:
            opened.system.check([Query("a", rule=rule)])
        except RarsError as error:
            raise of_error(error) from error
        key = (opened.name, opened.version, rule, asked.split or "")
        return await self._tables.of(key, chosen, asked.wait_ms / 1e3)

    async def _measured(self, key: Key, few: Sequence[Asked]) -> list[dict[str, float] | None]:
        """A few queries answered in the background, and measured."""
        name, version, rule, _ = key
        place = await self._opened(Question(query="", system=name, version=version))
        system = place.system

        def work(opened: Opened, asked: Sequence[Asked]) -> list[dict[str, float] | None]:
            assert self.judged is not None
            questions = [
                Query(
                    one.text,
                    DEEP,
                    rule=rule,
                    locale=one.locale if one.locale and system.reads(one.locale) else None,
                )
                for one in asked
            ]
            found = []
            for one, answer in zip(asked, opened.system.answer(questions), strict=True):
                ids = opened.store.ids.take(answer.items).to_pylist()
                found.append(measured(self.judged.grades_of(one.row), ids, DEEP))
            return found

        job = Job(("alone", place, object()), (work, few), 0, 600.0, background=True)
        try:
            values, _ = await self.batcher.do(job)
        except RarsError as error:
            raise of_error(error) from error
        return list(values)

    # -- judgments ---------------------------------------------------------------------------------

    async def judge(self, given: Sequence[Judgment]) -> int:
        """Keep judgments; returns when they are on disk, with how many there ever were."""
        for one in given:
            if one.label is not None and one.grade is not None:
                raise bad_request("Give a label or a grade, not both.", "grade")
        try:
            total = await self.judgments.append(given)
        except OSError as error:
            said = f"The judgment could not be written: {error.strerror}."
            raise Refused(507, "not_written", said) from error
        self.metrics.judged(len(given))
        return total

    def judgments_kept(
        self, *, query: str | None = None, user: str | None = None
    ) -> list[dict[str, Any]]:
        """The judgments that stand."""
        return [
            {**vars(one), "query_id": query_id(one.query, one.locale, self._known)}
            for one in self.judgments.standing(query=query, user=user)
        ]

    def judgment_table(self, table: str) -> list[dict[str, Any]]:
        """``judgments`` or ``queries`` as ``rars data import`` takes them."""
        kept = list(self.judgments.standing())
        return (pairs if table == "judgments" else queries)(kept, self._known)

    def _known(self, text: str) -> list[str]:
        return [] if self.judged is None else self.judged.ids_of(text)

    # -- the catalogue -----------------------------------------------------------------------------

    async def change(
        self, system: str | None, body: bytes, *, whole: bool = False
    ) -> dict[str, Any]:
        """Apply rows of JSON lines; when this returns, they are on disk and searched."""
        return await self._change(
            partial(changes.apply, self.systems, system, body, whole=whole, keep=self.settings.keep)
        )

    async def versions(self, system: str | None = None) -> dict[str, Any]:
        """The versions of a catalogue, and what happened to it."""
        return await self._change(
            partial(changes.versions, self.systems, system, self.settings.keep)
        )

    async def rollback(self, asked: RollbackRequest) -> dict[str, Any]:
        """Search an earlier version again."""
        return await self._change(partial(changes.rollback, self.systems, asked))

    async def diff(self, asked: DiffRequest) -> dict[str, Any]:
        """What lies between two versions."""
        return await self._change(partial(changes.diff, self.systems, asked))

    async def _change(self, call: Callable[[], T]) -> T:
        """In the thread of changes, one after the other."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._changing, call)
        except RarsError as error:
            raise bad_request(self.systems.unplaced(str(error))) from error

    async def _watch_disk(self) -> None:
        """Search what other processes made current, too."""
        while True:
            await asyncio.sleep(self.settings.poll_seconds)
            for name in self.systems.names:
                with suppress(Refused):
                    await self._change(partial(self.systems.refresh, name))


def _judged(opened: Opened) -> Judged | None:
    """The judged queries of a run's dataset, if it is still there."""
    try:
        return Judged(opened.run.dataset())
    except RarsError:
        return None


def _target(asked: Question, opened: Opened) -> str | Opened:
    """What a batch is of: a system as it is when the batch begins, or one version of it."""
    return opened.name if asked.version is None else opened


def _listed(one: Asked, tables: Sequence[Table], measure: str) -> dict[str, Any]:
    values = [table.values.get(one.row) for table in tables]
    ours, theirs = [*values, None, None][:2]
    difference = None
    if ours is not None and theirs is not None:
        difference = ours[measure] - theirs[measure]
    return {
        "query_id": one.query_id,
        "text": one.text,
        "locale": one.locale,
        "split": one.split,
        "judged": one.judged,
        "relevant": one.relevant,
        "measures": ours,
        "against": theirs,
        "difference": difference,
    }


def _sides(asked: QueriesRequest) -> list[Question]:
    """The systems whose measures are wanted: none, one, or two."""
    ours = (asked.system, asked.version, asked.rule)
    theirs = (asked.against, asked.against_version, asked.against_rule)
    if theirs == (None, None, None):
        sides = [] if ours == (None, None, None) else [ours]
    else:
        # What is compared with another rule or version is the same system, unless named.
        sides = [ours, (theirs[0] or ours[0], *theirs[1:])]
    return [Question(query="", system=one, version=v, rule=rule) for one, v, rule in sides]


def _or_last(value: float | None) -> float:
    return float("inf") if value is None else value


def _value(one: dict[str, Any], measure: str) -> float | None:
    return None if one["measures"] is None else float(one["measures"][measure])


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


_ORDERS: dict[str, Callable[[dict[str, Any], str], float]] = {
    "difference": lambda one, _: _or_last(None if (d := one["difference"]) is None else -abs(d)),
    "better": lambda one, _: _or_last(_minus(one["difference"])),
    "worse": lambda one, _: _or_last(one["difference"]),
    "best": lambda one, measure: _or_last(_minus(_value(one, measure))),
    "worst": lambda one, measure: _or_last(_value(one, measure)),
}
