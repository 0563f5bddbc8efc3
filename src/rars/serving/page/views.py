"""The views of the page: what each asks of the engine, and what its template is given.

Owns: one function a view. Ignores HTTP. What goes wrong is shown in the place where it belongs: at a
character of the filter, or above the results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from fastapi import Request
from pydantic import ValidationError

from rars.data.schema import LABEL_GRADES
from rars.errors import RarsError
from rars.evaluation.markup import templates
from rars.search.walk import read_prefix
from rars.serving.engine import Caller, Engine
from rars.serving.page import sentences, tables
from rars.serving.page.address import VIEWS, Address, Side
from rars.serving.page.beside import beside
from rars.serving.page.clauses import added, clause, clauses, removed
from rars.serving.page.drawing import GAP, columns
from rars.serving.page.sentences import percent
from rars.serving.page.words import pieces
from rars.serving.refusals import Refused, of_error
from rars.serving.schemas import (
    ExplainRequest,
    ExplainResponse,
    Facet,
    SearchRequest,
    SearchResponse,
    SystemInfo,
    TreeRequest,
    TreeResponse,
)
from rars.serving.systems import Opened
from rars.tree import code_name

NAMES = {"search": "Search", "tree": "Tree", "why": "Why?", "compare": "Side by side"}
PATHS = {view: "/" if view == "search" else f"/{view}" for view in VIEWS}
LABELS = {
    grade: (label, {"E": "Exact", "S": "Substitute", "C": "Complement", "I": "Irrelevant"}[label])
    for label, grade in LABEL_GRADES.items()
}
SIZES = (10, 20, 50, 100)
ROOT = "root"
"""The prefix of all items, where none at all means the path of the first hit."""

_HIDDEN = ("id", "title", "text", "locale")
_SHOWN = ("brand", "color", "category")
_FIELDS, _FACETS, _VALUES, _EXAMPLES, _MISSED, _BRANCHES = 40, 8, 8, 6, 8, 10

Context = dict[str, Any]


class Problem(NamedTuple):
    """What went wrong: in which field, and for a filter the text around the character."""

    title: str
    message: str
    field: str | None
    position: int | None
    before: str = ""
    at: str = ""
    after: str = ""


class Missed(NamedTuple):
    """A relevant item that is not shown."""

    item_id: str
    title: str
    grade: float


class Value(NamedTuple):
    """A value of a facet, how many hits have it, and where a click leads."""

    label: str
    number: int
    url: str
    chosen: bool


class Counted(NamedTuple):
    """A facet as it is shown."""

    name: str
    rows: list[Value]
    range: str


@dataclass(frozen=True)
class Page:
    """The views of one engine."""

    engine: Engine

    async def shown(self, here: Address, request: Request) -> tuple[int, str, dict[str, str]]:
        """Status, HTML and further headers of a view."""
        status, problem, more, filled = 200, None, dict[str, str](), {}
        known = await asyncio.to_thread(self._known)
        here, info = _chosen(here, known)
        try:
            self._check(request)
            view: Callable[..., Coroutine[Any, Any, Context]] = getattr(self, f"_{here.view}")
            filled = await view(here, info, known, caller_of(request))
        except (Refused, ValidationError) as error:
            refused = error if isinstance(error, Refused) else _invalid(error)
            status, problem = refused.status, _problem(refused, here)
            if refused.retry_after is not None:
                more["Retry-After"] = str(refused.retry_after)
        shared = self._shared(here, info, known, problem)
        shared["locked"] = status == 401
        template = _environment().get_template(f"{here.view}.html")
        return status, template.render(**_EMPTY[here.view] | shared | filled), more

    def _known(self) -> list[SystemInfo]:
        """What can be asked; unlike the API's list it never waits for a change of the catalogue."""
        systems = self.engine.systems
        opened = [systems.now(name) for name in systems.names]
        return [
            SystemInfo(**one.described, default=at == 0, versions=systems.versions(one))
            for at, one in enumerate(opened)
        ]

    def _check(self, request: Request) -> None:
        """Whether this request may search now."""
        locked = request.scope.get("rars.locked")
        if locked is not None:
            raise locked
        if self.engine.status != "ok":
            raise Refused(503, self.engine.status, "The server is not ready.", retry_after=1)

    # -- search ------------------------------------------------------------------------------------

    async def _search(
        self, here: Address, info: SystemInfo, known: Sequence[SystemInfo], caller: Caller
    ) -> Context:
        if not here.q:
            return {"examples": self._examples(here)}
        names = [one for one in info.columns if one.kind != "other" and one.name not in _HIDDEN]
        asked = SearchRequest(
            **_question(here, here.left, info),
            facets=[one.name for one in names if one.name in _SHOWN] + _others(names)[:17],
            facet_limit=_VALUES,
            fields=_others(names)[:_FIELDS],
            judged=True,
        )
        answer = SearchResponse(**await self.engine.search(asked, caller))
        return {
            "answer": answer,
            "facets": _facets(answer, here),
            "active": [
                (one, here.to(filter=removed(here.filter, one))) for one in clauses(here.filter)
            ],
            "missed": self._missed(here, {hit.item_id for hit in answer.hits}),
        }

    def _examples(self, here: Address) -> list[str]:
        """Queries to begin with: short ones that were judged, of the locale that was chosen."""
        judged = self.engine.judged
        every = [] if judged is None else judged.queries
        fitting = (
            one.text
            for one in every
            if one.relevant and len(one.text) < 40 and here.locale in ("", one.locale)
        )
        return [text for text, _ in zip(fitting, range(_EXAMPLES), strict=False)]

    def _opened(self, here: Address) -> Opened:
        systems = self.engine.systems
        return systems.known(here.system or None, here.version or None) or systems.now(
            here.system or None
        )

    def _grades(self, query: str) -> Mapping[str, float]:
        judged = self.engine.judged
        return {} if judged is None or not query else judged.grades(query) or {}

    def _missed(self, here: Address, shown: set[str]) -> list[Missed]:
        """Relevant items of the catalogue that are not shown, the best first."""
        grades = self._grades(here.q)
        wanted = [one for one, grade in grades.items() if grade > 0 and one not in shown]
        wanted = sorted(wanted, key=lambda one: -grades[one])
        store = self._opened(here).store
        rows = store.find(wanted)
        found = store.take(rows[rows >= 0][:_MISSED])
        return [Missed(one["id"], one["title"], grades[one["id"]]) for one in found]

    # -- why, why not ------------------------------------------------------------------------------

    async def _why(
        self, here: Address, info: SystemInfo, known: Sequence[SystemInfo], caller: Caller
    ) -> Context:
        if not here.q:
            return {}
        question = _question(here, here.left, info)
        if not here.item:
            found = SearchResponse(**await self.engine.search(SearchRequest(**question), caller))
            return {"missed": self._missed(here, {one.item_id for one in found.hits})}
        asked = ExplainRequest(**question, item_id=here.item)
        answer = ExplainResponse(**await self.engine.explain(asked, caller))
        hit, facts = answer.hit, answer.why_not
        told = sentences.why_not(answer, here) if hit is None else sentences.why(hit, here.q)
        explained = None if hit is None else hit.explanation
        steps = tables.steps(explained, facts, self._opened(here))
        return {
            "answer": answer,
            "said": told,
            "title": facts["title"],
            "grade": self._grades(here.q).get(here.item),
            "steps": steps,
            "watched": explained is None,
            "parts": tables.parts(explained),
            "rivals": facts["beaten_by"],
            "path": " ".join(one.name for one in steps),
        }

    # -- the tree ----------------------------------------------------------------------------------

    async def _tree(
        self, here: Address, info: SystemInfo, known: Sequence[SystemInfo], caller: Caller
    ) -> Context:
        if not here.q:
            return {}
        question = _question(here, here.left, info)
        item, prefix = await self._followed(here, question, caller)
        path = [] if item is None else item["identifier"]
        names = _codes(prefix)
        looks = []
        for depth in range(len(names) + 1):
            wanted = {names[depth]} if depth < len(names) else set()
            asked = TreeRequest(**question, prefix=" ".join(names[:depth]), limit=_BRANCHES)
            looks.append(await self._look(asked, wanted, path[depth : depth + 1], caller))
        drawn = columns(looks, path, limit=_BRANCHES)
        return {
            "columns_drawn": drawn,
            "found": looks[-1].found,
            "item_title": None if item is None else item["title"],
            "crumbs": [
                (name, here.to(prefix=" ".join(names[: at + 1]))) for at, name in enumerate(names)
            ],
            "judged": looks[0].mass is not None,
            "automatic": not here.prefix,
            "opened": " ".join(names),
        }

    async def _followed(
        self, here: Address, question: Context, caller: Caller
    ) -> tuple[Context | None, str]:
        """The item whose path is marked, and the prefix that is opened; the first hit's if none is named."""
        prefix = "" if here.prefix == ROOT else here.prefix
        if here.item:
            item = await self.engine.item(
                here.item, question["system"], question["version"], caller
            )
            return item, prefix if here.prefix else item["path"]
        if here.prefix:
            return None, prefix
        found = await self.engine.search(SearchRequest(**question | {"k": 1}), caller)
        first = found["hits"][0] if found["hits"] else None
        return first, "" if first is None else first["path"]

    async def _look(
        self, asked: TreeRequest, names: set[str], codes: Sequence[int], caller: Caller
    ) -> TreeResponse:
        """The branches below a prefix: the best, and those that are followed or marked."""
        look = TreeResponse(**await self.engine.tree(asked, caller))
        there = {one.name for one in look.children}, {one.code for one in look.children}
        if look.more and not (names <= there[0] and set(codes) <= there[1]):
            wider = asked.model_copy(update={"limit": 1_000})
            look = TreeResponse(**await self.engine.tree(wider, caller))
        return look

    # -- side by side ------------------------------------------------------------------------------

    async def _compare(
        self, here: Address, info: SystemInfo, known: Sequence[SystemInfo], caller: Caller
    ) -> Context:
        if not here.q:
            return {}
        sides = [(here.left, info), (here.right, _info(known, here.other_system))]
        asked = [SearchRequest(**_question(here, *side), judged=True) for side in sides]
        found = await asyncio.gather(*(self.engine.search(one, caller) for one in asked))
        left, right = (SearchResponse(**one) for one in found)
        return {"left": left, "right": right, "both": beside(left, right)}

    # -- what all views have -----------------------------------------------------------------------

    def _shared(
        self,
        here: Address,
        info: SystemInfo,
        known: Sequence[SystemInfo],
        problem: Problem | None,
    ) -> Context:
        other = _info(known, here.other_system)
        judged = self.engine.judged
        splits = {one.split for one in judged.queries if one.judged} if judged else set()
        return {
            "here": here,
            "info": info,
            "problem": problem,
            "names": NAMES,
            "paths": PATHS,
            "columns": [one for one in info.columns if one.kind != "other"],
            "system_options": _systems(known),
            "rule_options": _rules(info),
            "version_options": _versions(info),
            "other_rule_options": _rules(other),
            "other_version_options": _versions(other),
            "locale_options": [("", "any"), *((one, one) for one in info.locales)],
            "size_options": [(str(one), str(one)) for one in sorted({*SIZES, here.k})],
            "filter_example": _example(info),
            "id_example": _first_id(self.engine.systems.now(info.name)),
            "splits": [one for one in ("test", "validation", "train") if one in splits],
            "carried": [
                (name, value)
                for name, value in asdict(replace(here, item="")).items()
                if name != "view" and value and value != getattr(Address(), name)
            ],
        }


_EMPTY: dict[str, Context] = {
    "search": dict.fromkeys(("answer",))
    | {"examples": [], "facets": [], "active": [], "missed": []},
    "why": dict.fromkeys(("answer", "said", "title", "grade", "watched", "path"))
    | {"steps": [], "parts": [], "rivals": [], "missed": []},
    "tree": dict.fromkeys(("item_title", "judged", "automatic", "opened"))
    | {"columns_drawn": [], "found": [], "crumbs": []},
    "compare": dict.fromkeys(("both", "left", "right")),
}
"""What a template finds where nothing was asked, or the answer was refused."""


def caller_of(request: Request) -> Caller:
    """Who asks."""
    found: Caller = request.scope["rars.caller"]
    return found


# -- what was chosen -------------------------------------------------------------------------------


def _chosen(here: Address, known: Sequence[SystemInfo]) -> tuple[Address, SystemInfo]:
    """The address without what goes without saying; nothing named compares two systems or rules."""
    first = known[0].name  # is meant where none is named
    here = replace(
        here,
        system="" if here.system == first else here.system,
        other_system="" if here.other_system == first else here.other_system,
    )
    info = _info(known, here.system)
    if here.view == "compare" and here.left == here.right == Side():
        if len(known) > 1:
            here = replace(here, other_system=known[1].name)
        elif len(info.rules) > 1:
            here = replace(here, other_rule=info.rules[1])
    return here, info


def _info(known: Sequence[SystemInfo], name: str) -> SystemInfo:
    return next((one for one in known if one.name == name), known[0])


def _question(here: Address, side: Side, info: SystemInfo) -> Context:
    """A question to one system; options that it has no use for are left out."""
    generative = info.depth is not None
    return {
        "query": here.q,
        "system": side.system or None,
        "rule": side.rule or None,
        "version": (side.version or None) if generative else None,
        "k": here.k,
        "filter": here.filter or None,
        "locale": here.locale if here.locale in info.locales else None,
        "categories": "all" if here.categories and generative else None,
        "exact": bool(here.exact) and generative,
    }


def _codes(prefix: str) -> list[str]:
    """The codes of a prefix as they are called, however it was written."""
    try:
        return [code_name(depth, code) for depth, code in enumerate(read_prefix(prefix))]
    except RarsError as error:
        raise of_error(error) from error


def _invalid(error: ValidationError) -> Refused:
    """An address whose values cannot be, such as a name of a thousand letters."""
    first = error.errors()[0]
    return Refused(422, "invalid", f"{'.'.join(map(str, first['loc']))}: {first['msg']}.")


def _problem(refused: Refused, here: Address) -> Problem:
    title = {401: "A key is needed", 404: "There is no such thing", 429: "Too much at once"}.get(
        refused.status, "This cannot be answered"
    )
    if refused.position is None or refused.field != "filter":
        return Problem(title, refused.message, refused.field, None)
    at = refused.position - 1
    text = here.filter
    around = text[max(at - 40, 0) : at], text[at : at + 1] or "␣", text[at + 1 : at + 30]
    said = refused.message.partition(": ")[2] or refused.message
    return Problem(title, f"{said[:1].upper()}{said[1:]}", "filter", refused.position, *around)


# -- choices ---------------------------------------------------------------------------------------

Options = list[tuple[str, str]]


def _systems(known: Sequence[SystemInfo]) -> Options:
    return [("" if at == 0 else one.name, one.name) for at, one in enumerate(known)]


def _rules(info: SystemInfo) -> Options:
    own, *others = info.rules
    return [("", f"{own} (its own)"), *((one, one) for one in others)]


def _versions(info: SystemInfo) -> Options:
    others = [one for one in info.versions if one != info.version]
    return [("", f"{info.version} (now)"), *((one, one) for one in others)]


def _example(info: SystemInfo) -> str:
    names = [one.name for one in info.columns if one.kind == "text" and one.name not in _HIDDEN]
    shown = [name for name in ("color", "brand") if name in names] or names[:1]
    return " AND ".join(f"{name} = …" for name in shown)


def _first_id(opened: Opened) -> str:
    ids = opened.store.ids
    return str(ids[0].as_py()) if len(ids) else ""


# -- facets ----------------------------------------------------------------------------------------


def _others(columns: Sequence[Any]) -> list[str]:
    return [one.name for one in columns if one.name not in _SHOWN]


def _facets(answer: SearchResponse, here: Address) -> list[Counted]:
    """The facets that divide the hits: the usual ones first, then those that most hits have."""
    usual = [
        one for name in ("category", "brand", "color") for one in answer.facets if one.name == name
    ]
    few = max(2, answer.count // 4)
    more = [
        one
        for one in answer.facets
        if one.name not in _SHOWN and answer.count - one.missing >= few and len(one.values) > 1
    ]
    more.sort(key=lambda one: one.missing)
    return [_counted(one, here) for one in [*usual, *more][:_FACETS] if one.values]


def _counted(facet: Facet, here: Address) -> Counted:
    active = set(clauses(here.filter))
    values = facet.values
    if facet.kind == "path":
        values = sorted(values, key=lambda one: one.value)
    rows = []
    for one in values:
        test = clause(facet.name, one.value)
        chosen = test in active
        changed = removed(here.filter, test) if chosen else added(here.filter, test)
        label = str(one.value)
        if facet.kind == "path":
            *above, label = label.split(" > ")
            label = "\u2003" * len(above) + label
        rows.append(Value(label, one.count, here.to(filter=changed), chosen))
    reach = (
        f"{facet.low} to {facet.high}" if facet.low is not None and facet.low != facet.high else ""
    )
    return Counted(facet.name, rows, reach)


# -- templates -------------------------------------------------------------------------------------


def _environment() -> Any:
    found = templates("rars.serving.page")
    found.globals.update(
        pieces=pieces,
        percent=percent,
        chance=tables.chance,
        gap=int(GAP),
        root=ROOT,
        grade_name=lambda grade: LABELS[grade][1] if grade in LABELS else f"grade {grade:g}",
        label_of=lambda grade: LABELS[grade][0] if grade in LABELS else "",
    )
    return found
