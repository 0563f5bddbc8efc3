"""The contract of the API: what may be asked, and what is answered.

Owns: the shape of every request and answer, with an example of each; OpenAPI is made from it. Ignores what
the values mean to a system: those that it cannot use are refused by it, in one sentence. New fields may be
added; those that are here keep their names and meaning.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_TEXT = 10_000
"""Characters of a text in a request."""
MOST_K = 1_000
"""Items of one answer."""
MOST_IDS = 10_000
"""Item ids that may be allowed or denied."""
MOST_QUERIES = 100
"""Queries of one batch."""
WHOLE = 2**31

Text = Annotated[str, Field(max_length=MOST_TEXT)]
Name = Annotated[str, Field(max_length=200)]
Id = Annotated[str, Field(min_length=1, max_length=1_000)]


class _Asked(BaseModel):
    """A request: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class _Told(BaseModel):
    """An answer."""


# -- searching -------------------------------------------------------------------------------------


class Question(_Asked):
    """A query and how it is to be answered; what is left out is as the system would do it by itself."""

    query: Text = Field(description="The text to search for.", examples=["black mug"])
    system: Name | None = Field(None, description="One of /v1/systems; the first if left out.")
    version: Name | None = Field(
        None, description="A version of the catalogue; the one searched now if left out."
    )
    k: int = Field(10, ge=1, le=MOST_K, description="How many items to find.")
    rule: Name | None = Field(
        None, description="How to rank: a rule of the system, or a pattern such as 0110."
    )
    filter: Text | None = Field(
        None,
        description="Which items may be found, by their columns.",
        examples=['brand = "Acme" AND price < 20 AND color IN (black, navy)'],
    )
    category: Text | None = Field(
        None, description="Search this category and what is below it.", examples=["Home > Mugs"]
    )
    categories: Annotated[int, Field(ge=1, le=WHOLE)] | Literal["auto", "all"] | None = Field(
        None, description="How many of the model's categories to search."
    )
    locale: Name | None = Field(None, description="Where the query comes from: en, es, ja ...")
    allow: list[Id] | None = Field(
        None, max_length=MOST_IDS, description="The only item ids that may be found."
    )
    deny: list[Id] | None = Field(
        None, max_length=MOST_IDS, description="Item ids that may not be found."
    )
    exact: bool = Field(False, description="Score every identifier, not a beam of them.")
    timeout_ms: int | None = Field(
        None, ge=1, le=WHOLE, description="Answer within this time or not at all."
    )


class SearchRequest(Question):
    """A search."""

    explain: bool = Field(False, description="Say of each hit why it was found.")
    facets: list[Name] = Field(
        default_factory=list, max_length=20, description="Columns whose values are counted."
    )
    facet_over: Literal["hits", "matching"] = Field(
        "hits", description="Count over the hits, or over all items that may be found."
    )
    facet_limit: int = Field(10, ge=0, le=1_000, description="Values listed of each facet.")
    fields: list[Name] = Field(
        default_factory=list, max_length=50, description="Further columns shown of each hit."
    )
    judged: bool = Field(
        False,
        description="Where the dataset has judged this query: the grade of each hit, and measures.",
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"query": "black mug", "k": 5, "filter": "color = black"}],
        },
    )


class BatchRequest(_Asked):
    """Several searches at once, each with options of its own."""

    queries: list[SearchRequest] = Field(min_length=1, max_length=MOST_QUERIES)

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"queries": [{"query": "black mug"}, {"query": "lamp", "k": 3}]}]
        },
    )


class Hit(_Told):
    """An item that was found."""

    rank: int
    item_id: str
    score: float
    title: str
    brand: str | None = None
    color: str | None = None
    category: list[str] = Field(default_factory=list)
    identifier: list[int] = Field(default_factory=list)
    path: str = Field("", description="The identifier as people read it: a12 b7 c3 d4.")
    fields: dict[str, list[Any]] | None = Field(None, description="The further columns asked for.")
    grade: float | None = Field(None, description="What the dataset's judgments say of it.")
    explanation: dict[str, Any] | None = Field(
        None, description="Each step of its path with model, evidence and reasons."
    )


class FacetValue(_Told):
    """A value and how many items have it."""

    value: Any
    count: int


class Facet(_Told):
    """The values of one column."""

    name: str
    kind: str
    values: list[FacetValue]
    others: int
    missing: int
    low: Any = None
    high: Any = None


class Timings(_Told):
    """Milliseconds of each stage; ``batch`` queries were searched together."""

    queue: float = Field(description="Waiting for others to be searched with, and for its turn.")
    search: float = Field(description="Reading the query and searching, of the whole batch.")
    show: float = Field(description="Fetching what is shown, of the whole batch.")
    total: float
    batch: int


class SearchResponse(_Told):
    """The answer of one search."""

    query: str
    system: str
    version: str | None = Field(description="The version of the catalogue that answered.")
    rule: str
    k: int
    count: int = Field(description="How many hits there are.")
    degraded: bool = Field(description="Whether a narrower beam was used, under pressure.")
    width: int | None = Field(None, description="Prefixes that the beam kept at a depth.")
    hits: list[Hit]
    facets: list[Facet] = Field(default_factory=list)
    measures: dict[str, float] | None = Field(
        None, description="Of this answer, where the dataset has judged the query."
    )
    timings: Timings
    request_id: str

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "black mug",
                    "system": "demo",
                    "version": "v000001",
                    "rule": "hybrid",
                    "k": 1,
                    "count": 1,
                    "degraded": False,
                    "width": 100,
                    "hits": [
                        {
                            "rank": 1,
                            "item_id": "P00042",
                            "score": -1.25,
                            "title": "Black stoneware mug",
                            "brand": "Acme",
                            "color": "black",
                            "category": ["Home", "Mugs"],
                            "identifier": [12, 7, 201, 33],
                            "path": "a12 b7 c201 d33",
                        }
                    ],
                    "facets": [],
                    "timings": {
                        "queue": 2.1,
                        "search": 6.3,
                        "show": 0.4,
                        "total": 9.0,
                        "batch": 1,
                    },
                    "request_id": "5f2c9a",
                }
            ]
        }
    )


class Problem(_Told):
    """What was wrong, in one sentence."""

    code: str = Field(description="Such as bad_request, not_found, overloaded.")
    message: str
    position: int | None = Field(None, description="The character of a filter, from 1.")
    field: str | None = Field(None, description="The field of the request.")


class ErrorResponse(_Told):
    """Every answer that is not the one asked for."""

    error: Problem
    request_id: str

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "code": "bad_request",
                        "message": "Filter, character 9: a value should follow, but the filter ends.",
                        "position": 9,
                        "field": "filter",
                    },
                    "request_id": "5f2c9a",
                }
            ]
        }
    )


class BatchEntry(_Told):
    """One query of a batch: its answer, or what was wrong with it."""

    status: int = Field(description="As the query alone would have been answered.")
    result: SearchResponse | None = None
    error: Problem | None = None


class BatchResponse(_Told):
    """The answers of a batch, in the order of its queries."""

    results: list[BatchEntry]
    request_id: str


# -- how an answer came about ----------------------------------------------------------------------


class ExplainRequest(Question):
    """Why an item was found, or why not."""

    item_id: Id = Field(description="The item that is asked about.", examples=["P00042"])


class ExplainResponse(_Told):
    """``why`` of an item that was found; of any, ``why_not`` with the sentence and its numbers."""

    query: str
    system: str
    version: str | None
    rule: str
    item_id: str
    found: bool
    reason: Literal["found", "unknown", "filtered", "routed", "pruned", "below", "unscored"]
    sentence: str
    hit: Hit | None = Field(None, description="With its explanation, where it was found.")
    why_not: dict[str, Any]
    request_id: str


class TreeRequest(Question):
    """A look at the tree from one prefix."""

    prefix: Name = Field("", description="Such as a12 b7; the root if empty.", examples=["a12 b7"])
    limit: int = Field(50, ge=1, le=1_000, description="Branches that are listed.")


class Branch(_Told):
    """A child of the prefix."""

    code: int
    name: str
    probability: float | None
    path_probability: float | None
    model: float
    evidence: float
    maximum: float | None
    score: float
    items: int
    matching: int
    legal: bool
    kept: bool
    mass: float | None
    titles: list[str]
    leaf: bool


class TreeItem(_Told):
    """An item of a whole identifier."""

    item_id: str
    title: str


class TreeResponse(_Told):
    """A prefix and its branches, the best first."""

    query: str
    system: str
    version: str | None
    rule: str
    prefix: list[int]
    name: str
    depth: int
    items: int
    matching: int
    score: float
    mass: float | None
    children: list[Branch]
    more: int
    found: list[TreeItem]
    request_id: str


class ItemResponse(_Told):
    """All that the catalogue has of an item."""

    item_id: str
    title: str
    system: str
    version: str | None
    brand: str | None
    color: str | None
    category: list[str]
    identifier: list[int]
    path: str
    shares: int = Field(description="How many other items have the same identifier.")
    columns: dict[str, list[Any]] = Field(description="Every column and attribute with its values.")
    request_id: str


# -- what there is ---------------------------------------------------------------------------------


class Column(_Told):
    """A column that filters and facets may name."""

    name: str
    kind: str
    attribute: bool


class SystemInfo(_Told):
    """A system that can be asked."""

    name: str
    kind: str = Field(description="generative, bm25, dense, fusion ...")
    recipe: str
    default: bool
    rules: list[str] = Field(description="The first is the one it uses by itself.")
    items: int
    version: str | None
    versions: list[str] = Field(description="Versions that can be asked, the current one first.")
    depth: int | None = Field(description="Codes of an identifier; null without identifiers.")
    width: int | None
    locales: list[str]
    columns: list[Column]


class SystemsResponse(_Told):
    """All systems, the default first."""

    systems: list[SystemInfo]
    request_id: str


class QueriesRequest(_Asked):
    """Which judged queries, and whose measures beside them."""

    split: Literal["train", "validation", "test"] | None = None
    text: Text = Field("", description="Only queries that contain this.")
    limit: int = Field(50, ge=1, le=1_000)
    offset: int = Field(0, ge=0, le=WHOLE)
    sort: Literal["order", "difference", "better", "worse", "best", "worst"] = Field(
        "order",
        description="As in the dataset; the largest difference, ours most ahead or behind; or by value.",
    )
    measure: Name = Field("nDCG@10", description="Recall@10, Recall@100, nDCG@10 ...")
    system: Name | None = Field(None, description="Measure this system ...")
    version: Name | None = None
    rule: Name | None = Field(
        None, description="... by this rule; with one of both, measures come."
    )
    against: Name | None = Field(None, description="And compare with this system ...")
    against_version: Name | None = None
    against_rule: Name | None = None
    wait_ms: int = Field(200, ge=0, le=10_000, description="Wait so long for measures.")


class JudgedQuery(_Told):
    """A query of the dataset."""

    query_id: str
    text: str
    locale: str | None
    split: str
    judged: int = Field(description="How many items are judged.")
    relevant: int = Field(description="How many of them are relevant.")
    measures: dict[str, float] | None = None
    against: dict[str, float] | None = None
    difference: float | None = Field(
        None, description="Of the measure sorted by; ours minus theirs."
    )


class QueriesResponse(_Told):
    """Judged queries; measures come as they are computed, ``progress`` says how far that is."""

    queries: list[JudgedQuery]
    total: int
    measure: str
    complete: bool
    progress: float
    request_id: str


# -- judgments -------------------------------------------------------------------------------------


class Judgment(_Asked):
    """What a person thinks of an item for a query; ``label`` or ``grade``, null to withdraw."""

    query: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
    item_id: Id
    label: Literal["E", "S", "C", "I"] | None = Field(
        None, description="Exact, Substitute, Complement, Irrelevant."
    )
    grade: float | None = Field(None, ge=0, le=1_000, allow_inf_nan=False)
    user: Annotated[str, Field(max_length=200)] = ""
    locale: Name | None = None
    system: Name | None = Field(None, description="Where the item was seen.")
    rank: int | None = Field(None, ge=1, le=WHOLE)
    note: Annotated[str, Field(max_length=2_000)] = ""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"query": "black mug", "item_id": "P00042", "label": "E", "user": "editor"}
            ]
        },
    )


class JudgmentsRequest(_Asked):
    """Judgments, kept all together or not at all."""

    judgments: list[Judgment] = Field(min_length=1, max_length=1_000)

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "judgments": [
                        {"query": "black mug", "item_id": "P00042", "label": "E", "user": "editor"}
                    ]
                }
            ]
        },
    )


class JudgmentsAccepted(_Told):
    """They are on disk."""

    accepted: int
    total: int = Field(description="Judgments that were ever given, withdrawn ones included.")
    request_id: str


class JudgmentKept(_Told):
    """The last word of a user on an item for a query."""

    query_id: str
    query: str
    item_id: str
    grade: float
    label: str | None
    user: str
    locale: str | None
    at: str


class JudgmentsResponse(_Told):
    """The judgments that stand."""

    judgments: list[JudgmentKept]
    total: int
    request_id: str


# -- the catalogue ---------------------------------------------------------------------------------


class RowStatus(_Told):
    """What became of one row."""

    row: int
    id: str | None
    status: Literal["added", "updated", "removed", "refused", "not applied"]
    problem: str | None = None


class CatalogResponse(_Told):
    """What became of all rows; ``version`` is the new one, null where nothing was changed."""

    system: str
    version: str | None
    items: int
    added: int
    updated: int
    removed: int
    refused: int
    rows: list[RowStatus]
    pruned: list[str] = Field(description="Old versions that went, by the policy of the server.")
    request_id: str


class VersionInfo(_Told):
    """A version that is kept."""

    version: str
    items: int
    at: str
    action: str
    parent: str | None
    current: bool


class VersionsResponse(_Told):
    """The versions of a catalogue, the one searched now first; ``log`` says all that happened."""

    system: str
    current: str
    versions: list[VersionInfo]
    log: list[dict[str, Any]]
    keep: int = Field(description="So many are kept beside the one searched now.")
    request_id: str


class RollbackRequest(_Asked):
    """Search an earlier version again."""

    system: Name | None = None
    version: Name | None = Field(None, description="The one before the current one if left out.")


class RollbackResponse(_Told):
    """The version that is searched now."""

    system: str
    version: str
    items: int
    request_id: str


class DiffRequest(_Asked):
    """What lies between two versions."""

    system: Name | None = None
    old: Name | None = Field(None, description="The one before ``new`` if left out.")
    new: Name | None = Field(None, description="The one searched now if left out.")
    queries: list[Text] = Field(
        default_factory=list, max_length=1_000, description="Asked of both versions."
    )
    k: int = Field(10, ge=1, le=100)
    rule: Name | None = None
    limit: int = Field(100, ge=0, le=10_000)

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"queries": ["black mug"], "k": 10}]}
    )


class DiffResponse(_Told):
    """Counts of everything, and the first few of each kind."""

    system: str
    old: str
    new: str
    items: list[int]
    n_added: int
    n_removed: int
    n_changed: int
    n_moved: int
    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[dict[str, Any]]
    moved: list[dict[str, Any]]
    asked: int
    k: int
    n_rankings: int
    rankings: list[dict[str, Any]]
    request_id: str


class Alive(_Told):
    """Whether the process answers (``/livez``), or whether it can search (``/readyz``)."""

    status: Literal["ok", "starting", "draining"]
