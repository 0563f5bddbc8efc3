"""A recipe is the whole system: typed sections, TOML in, resolved TOML out; an unknown key is an error.

Owns: how a recipe is read, which of its settings win, and the sections that are not a part's own. Ignores
what the settings do.

Where a key names a part (a learner, a rule, a system), the part's own settings stand in a table of its name
beside that key: ``identifiers.learner = "rqvae"`` and ``[identifiers.rqvae]``. The part's file declares what
may stand there; this module looks parts up in the tables of their rooms (``PARTS``) when a recipe is checked.

A recipe is resolved in this order, later ones winning: defaults, the size (``recipes/sizes/NAME.toml``,
which only scales), the recipe with what it ``extends`` (and what either says ``[at.SIZE]``), the protocol
(``recipes/protocols/NAME.toml``), ``--set`` options. A list replaces a list; a table laid over a list of
terms changes the terms it names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from rars.errors import RarsError, expected

SIZES = ("tiny", "small", "paper")
GENERATIVE = "generative"

PARTS = {
    "embedder": ("rars.identifiers.embedders", "EMBEDDERS"),
    "learner": ("rars.identifiers.learners", "LEARNERS"),
    "quantisation term": ("rars.identifiers.quantisation", "TERMS"),
    "objective term": ("rars.objectives", "TERMS"),
    "source of candidates": ("rars.training.candidates", "SOURCES"),
    "rule": ("rars.search.rules", "RULES"),
    "evidence": ("rars.search.evidence.parts", "EVIDENCE"),
    "system": ("rars.baselines", "SYSTEMS"),
}
"""Every kind of part: the module of its table, and the table's name. A table is a dict, name -> part."""


def parts(kind: str) -> Mapping[str, Any]:
    """The table of a kind of part."""
    module, name = PARTS[kind]
    table: Mapping[str, Any] = getattr(import_module(module), name)
    return table


def part(kind: str, name: object) -> Any:
    """A part by its name, or one sentence that lists those there are."""
    table = parts(kind)
    if not isinstance(name, str) or name not in table:
        raise RarsError(f"there is no {kind} {name!r}; choose one of {', '.join(table)}")
    return table[name]


class Section(BaseModel):
    """A frozen table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NoSettings(Section):
    """The settings of a part that has none."""


S = TypeVar("S", bound=Section)


def checked(kind: type[S], table: object, where: str) -> S:
    """A table as a section; the first mistake is one sentence that names its place."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(one) for one in (*filter(None, [where]), *first["loc"]))
        if first["type"] == "extra_forbidden":
            raise RarsError(f"there is no setting {key!r}") from error
        message = first["msg"].removeprefix("Value error, ")
        raise RarsError(f"{key or 'recipe'}: {message}") from error


class Choice(Section):
    """A section in which one key names a part whose own settings stand beside it.

    ``own`` holds them; in TOML they are a table of the part's name. Tables of parts that were not chosen are
    dropped, so that a size may scale every learner.
    """

    kind: ClassVar[str]
    key: ClassVar[str]
    place: ClassVar[str]
    """The section's name in a recipe, for messages."""

    own: Any = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _with_own(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        name = given.get(cls.key, cls.model_fields[cls.key].default)
        table = parts(cls.kind)
        if "own" in given:
            raise RarsError(f"there is no setting '{cls.place}.own'")
        if not isinstance(name, str) or name not in table:
            known = ", ".join(table)
            raise RarsError(f"{cls.place}.{cls.key}: {name!r} is none of {known}")
        others = {other: value for other, value in given.items() if other not in table}
        others["own"] = checked(table[name].settings, given.get(name, {}), f"{cls.place}.{name}")
        return {**getattr(table[name], "defaults", {}), **others}

    @model_serializer(mode="wrap")
    def _beside(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        own = self.own.model_dump(mode="json", exclude_none=True) if self.own is not None else {}
        return written | ({getattr(self, self.key): own} if own else {})


# -- identifiers -----------------------------------------------------------------------------------

Policy = Literal["share", "suffix", "repair", "cap"]


class FitSettings(Section):
    """How vectors are turned towards the training judgments: one linear map for queries, one for items."""

    epochs: PositiveInt = 10
    learning_rate: float = Field(1e-3, gt=0)
    batch: PositiveInt = 512
    """Judged pairs in a batch; the items of the others are a pair's negatives."""
    temperature: float = Field(0.05, gt=0)


class IdentifierSettings(Choice):
    """How items get their identifiers.

    >>> IdentifierSettings(learner="hierarchical-kmeans").sizes
    (20, 20, 20)
    >>> IdentifierSettings(sizes=(64, 64), collisions="cap", cap=3).learner
    'residual-kmeans'
    """

    kind = "learner"
    key = "learner"
    place = "identifiers"

    learner: str = "residual-kmeans"
    sizes: tuple[PositiveInt, ...] = ()
    """Codes per depth; left out, the learner's own (4 x 256, or 20 x 20 x 20)."""
    embedder: str = "use"
    """``use``, ``t5:NAME_OR_FOLDER``, ``sentence-transformers:NAME_OR_FOLDER`` or ``file:PATH``."""
    fit: FitSettings | None = None
    """Turn the vectors towards the training judgments first; without judged queries nothing is turned.
    ``true`` stands for the defaults, ``false`` for none."""
    collisions: Policy = "repair"
    cap: PositiveInt = 5
    """Items that may share one identifier under the policy ``cap``."""
    seed: int = Field(default=42, ge=0, lt=2**31)

    @model_validator(mode="before")
    @classmethod
    def _switch(cls, given: Any) -> Any:
        """``fit`` as a switch."""
        if isinstance(given, dict) and isinstance(given.get("fit"), bool):
            return given | {"fit": {} if given["fit"] else None}
        return given

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        learner = parts("learner")[self.learner]
        if self.sizes and not learner.takes_sizes:
            raise ValueError(
                f"learner {self.learner!r} takes no sizes: they follow from the catalogue"
            )
        if not self.sizes and learner.takes_sizes:
            raise ValueError(f"learner {self.learner!r} needs at least one codebook size")
        return self


# -- model -----------------------------------------------------------------------------------------


class ModelSettings(Section):
    """The retriever's parts."""

    backbone: str = "tiny"
    """``tiny`` or ``small`` (offline, trained from scratch with a sentence vector), ``t5:NAME_OR_FOLDER``
    (any T5-family checkpoint), ``encoder:NAME_OR_FOLDER`` (encoder-only, with a fresh shallow decoder)."""
    decoder_layers: PositiveInt | None = None
    """Keep only the first decoder layers (or: how many a fresh decoder gets)."""
    categories: Literal["feedback", "slots", "off"] = "feedback"
    category_levels: PositiveInt = 3
    """As many levels of categories at the most; no more than the catalogue has."""
    normaliser: Literal["depth", "children"] = "depth"
    """What a code competes with: all codes of its depth (the paper's recipes), or its legal siblings alone.
    With ``children`` nothing is spent on memorising which identifiers exist."""
    aligned_codes: bool = False
    """Start the code tables from the identifier learner's codebooks, aligned with the query vector; without
    effect on identifiers that have no codebooks shared by all prefixes."""
    prior: Literal["off", "codes", "identifiers"] = "off"
    """Add what the query vector alone says to the logits; the decoder's own part starts small. ``codes``: the
    dot product with each code's codeword. ``identifiers``: the softmax over whole identifiers, projected onto
    the tree (normaliser ``children`` only)."""
    vector_tokens: int = Field(4, ge=0)
    """Encoder tokens made from the query's sentence vector (offline backbones)."""
    max_tokens: PositiveInt = 32
    vocabulary: PositiveInt = 8000
    """Sub-words of the offline tokenizer."""
    dropout: float | None = Field(None, ge=0, lt=1)
    freeze_encoder: bool = False

    @field_validator("backbone")
    @classmethod
    def _known(cls, backbone: str) -> str:
        kind, _, name = backbone.partition(":")
        if (kind not in ("tiny", "small") or name) and (kind not in ("t5", "encoder") or not name):
            raise ValueError(f"{backbone!r} is none of tiny, small, t5:NAME, encoder:NAME")
        return backbone

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.prior == "identifiers" and self.normaliser != "children":
            raise ValueError("prior 'identifiers' needs normaliser 'children'")
        return self


# -- objective -------------------------------------------------------------------------------------


class TermSettings(Section):
    """One entry of a list of loss terms: which, how much of it, and its own settings beside those.

    ``name`` is what the journal, the figures and ``--set`` options call it: the term's own, unless two of a
    kind are listed.
    """

    kind: ClassVar[str] = "objective term"

    term: str
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    weight: float = Field(ge=0)
    own: Any = Field(exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _with_own(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        term = given.get("term", given.get("name"))
        known = part(cls.kind, term)
        mine = {"name": given.get("name", term), "weight": given.get("weight", known.weight)}
        rest = {k: v for k, v in given.items() if k not in ("term", "name", "weight")}
        return {**mine, "term": term, "own": checked(known.settings, rest, f"terms.{mine['name']}")}

    @model_serializer(mode="wrap")
    def _flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if written["name"] == written["term"]:
            del written["name"]
        own: dict[str, Any] = self.own.model_dump(mode="json", exclude_none=True)
        return written | own


_TAKEN = ("loss", "step", "epoch", "progress", "pairs", "validation", "phase")
"""What the journal says beside the terms."""


def _distinct(terms: tuple[TermSettings, ...]) -> None:
    names = [one.name for one in terms]
    for name in names:
        if name in _TAKEN:
            raise ValueError(f"no term can be called {name!r}: the journal calls something else so")
        if names.count(name) > 1:
            raise ValueError(f"two terms are called {name!r}; give one a name of its own")


class ObjectiveSettings(Section):
    """L = sum of weight x term: what the retriever is trained for."""

    terms: tuple[TermSettings, ...] = Field(
        default_factory=lambda: (TermSettings.model_validate({"term": "full-sid"}),), min_length=1
    )
    relevance: Literal["linear", "binary", "exponential", "exact", "exact+substitute"] = "linear"
    prior: Literal["inside", "beside"] = "inside"
    """Where a model has a prior. ``inside``: the decoder learns what is left to say, and how much both count.
    ``beside``: it learns by itself, and how much both count is learned on validation queries."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _distinct(self.terms)
        return self

    def named(self, name: str) -> TermSettings:
        """The term of this name."""
        return next(one for one in self.terms if one.name == name)


# -- training --------------------------------------------------------------------------------------


class ShareSettings(Section):
    """Further training queries, sampled anew each epoch: how many, and how much each counts."""

    share: float = Field(0.0, ge=0)
    """So many for each judged query in an epoch; 0 switches them off."""
    weight: float = Field(1.0, gt=0)


class PseudoSettings(ShareSettings):
    """Queries made from the items' own fields, so that an item nobody judged can still be found."""

    weight: float = Field(0.5, gt=0)


class IndexingSettings(ShareSettings):
    """Item texts as queries whose one answer is the item itself (DSI's indexing task)."""


class LoopSettings(Section):
    """What a phase of training may set for itself."""

    epochs: PositiveInt = 300
    learning_rate: float = Field(5e-4, gt=0)
    encoder_learning_rate: float | None = Field(None, gt=0)
    head_factor: float = Field(1.0, gt=0)
    """What a term trains for itself (the tree head) learns this many times faster."""
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.01, ge=0, le=1)
    clip: float = Field(1.0, gt=0)
    pairs: PositiveInt = 512
    """Relevant (query, item) pairs in a batch; a batch is made of whole queries."""
    accumulate: PositiveInt = 1
    keep: Literal["final", "best"] = "final"
    """``best``: the checkpoint with the highest recall on validation queries; never chosen on test data."""
    evaluations: PositiveInt = 8
    """How often validation recall is measured (only for ``keep = "best"``)."""
    judged: bool = True
    """Train on the judged queries."""
    pseudo: PseudoSettings = PseudoSettings()
    indexing: IndexingSettings = IndexingSettings()


class PhaseSettings(Section):
    """One phase: what differs from ``[training]``, and its own terms if it has any.

    ``start``  ``previous``: from the weights the phase before kept; ``fresh``: from the start
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    start: Literal["previous", "fresh"] = "previous"
    terms: tuple[TermSettings, ...] = ()
    changes: dict[str, Any] = Field(default_factory=dict, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        if "changes" in given:
            raise RarsError(f"there is no setting 'training.phases.{given.get('name')}.changes'")
        changes = {key: value for key, value in given.items() if key in LoopSettings.model_fields}
        return {k: v for k, v in given.items() if k not in changes} | {"changes": changes}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _distinct(self.terms)
        return self

    @model_serializer(mode="wrap")
    def _flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if not self.terms:
            del written["terms"]
        if self.start == "previous":
            del written["start"]  # said of the first phase it would be refused
        return written | self.changes


class TrainingSettings(LoopSettings):
    """The loop, and its phases where there are several."""

    precision: Literal["no", "bf16", "fp16"] = "no"
    tensorboard: bool = False
    """Write the journal for TensorBoard too (extra ``tensorboard``)."""
    checkpoint_seconds: float = Field(60.0, ge=0)
    checkpoints_kept: PositiveInt = 2
    seed: int = Field(0, ge=0, lt=2**31)
    phases: tuple[PhaseSettings, ...] = ()
    """None is one phase: the settings above with the objective's terms."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [one.name for one in self.phases]
        if len(set(names)) < len(names):
            raise ValueError("two phases have the same name")
        if (
            self.phases
            and self.phases[0].start != "fresh"
            and "start" in self.phases[0].model_fields_set
        ):
            raise ValueError("the first phase has none before it to start from")
        for one in self.phases:
            self.of(one)
        return self

    def of(self, phase: PhaseSettings) -> LoopSettings:
        """The settings of a phase: these, with what it changes."""
        mine = {name: getattr(self, name) for name in LoopSettings.model_fields}
        return checked(
            LoopSettings, merged(_plain(mine), phase.changes), f"training.phases.{phase.name}"
        )


@dataclass(frozen=True)
class Phase:
    """A stretch of training with one set of terms and one schedule."""

    name: str
    terms: tuple[TermSettings, ...]
    loop: LoopSettings
    fresh: bool = False


# -- search ----------------------------------------------------------------------------------------


class SearchSettings(Choice):
    """How the system answers unless a search asks for something else.

    >>> SearchSettings(rule="all").own.weight
    2.0
    """

    kind = "rule"
    key = "rule"
    place = "search"

    rule: str = "hybrid"
    width: PositiveInt = 100
    """Prefixes kept at every depth, where no more items are asked for."""
    categories: int | Literal["auto", "all"] = "auto"
    """How many of the model's categories a query searches; ``all``; ``auto``: as many as the rule says."""
    score: Literal["probability", "logit"] = "probability"
    """What a code adds to a path: its log-probability, or the raw logit."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.categories, int) and self.categories < 1:
            raise ValueError(f"a search needs at least 1 category, not {self.categories}")
        return self


# -- the recipe ------------------------------------------------------------------------------------


class Recipe(Section):
    """A whole system.

    >>> recipe = Recipe.resolve("rars", size="tiny", changes=["objective.terms.tree.weight=1"])
    >>> recipe.objective.named("tree").weight
    1.0
    """

    name: str = "unnamed"
    about: str = ""
    system: str = GENERATIVE
    """``generative``, or one that has no identifiers: its settings stand in tables of its parts' names
    (``[dense]``), and of the sections below only ``training.seed`` counts."""
    identifiers: IdentifierSettings = Field(default_factory=lambda: _section(IdentifierSettings))
    model: ModelSettings = ModelSettings()
    objective: ObjectiveSettings = Field(default_factory=ObjectiveSettings)
    training: TrainingSettings = TrainingSettings()
    search: SearchSettings = Field(default_factory=lambda: _section(SearchSettings))
    own: dict[str, Any] = Field(default_factory=dict, exclude=True)
    """Settings of a system that is not generative, and of the parts it is made of, by name."""

    @model_validator(mode="before")
    @classmethod
    def _with_own(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        if "own" in given:
            raise RarsError("there is no setting 'own'")
        name = given.get("system", GENERATIVE)
        if name == GENERATIVE:
            return given
        table = parts("system")
        if not isinstance(name, str) or name not in table:
            raise RarsError(f"system: {name!r} is none of {GENERATIVE}, {', '.join(table)}")
        used = table[name].uses
        own = {one: checked(table[one].settings, given.get(one, {}), one) for one in used}
        return {k: v for k, v in given.items() if k not in table} | {"own": own}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for phase in self.phases if self.generative else ():
            loop = phase.loop
            if not (loop.judged or loop.pseudo.share or loop.indexing.share):
                raise ValueError(
                    f"the phase {phase.name!r} has nothing to train on: judged queries are off, and so are "
                    "pseudo.share and indexing.share"
                )
        if self.generative and self.model.categories == "off":
            for phase in self.phases:
                for one in phase.terms:
                    if part(one.kind, one.term).categories:
                        raise ValueError(
                            f"the term {one.name!r} needs model.categories; leave it out: "
                            f"objective.terms.{one.name}=false"
                        )
        return self

    @model_serializer(mode="wrap")
    def _beside(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if self.system == GENERATIVE:
            return written
        kept = {key: written[key] for key in ("name", "about", "system")}
        own = {
            name: one.model_dump(mode="json", exclude_none=True) for name, one in self.own.items()
        }
        return kept | {"training": {"seed": self.training.seed}} | own

    @property
    def generative(self) -> bool:
        """Whether the system generates identifiers."""
        return self.system == GENERATIVE

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of training, in order."""
        training, terms = self.training, self.objective.terms
        if not training.phases:
            return (Phase("training", terms, training),)
        return tuple(
            Phase(one.name, one.terms or terms, training.of(one), one.start == "fresh")
            for one in training.phases
        )

    # -- reading -----------------------------------------------------------------------------------

    @classmethod
    def resolve(
        cls,
        name: str | Path,
        *,
        size: str | None = None,
        protocol: str | Path | None = None,
        changes: Sequence[str] = (),
    ) -> Recipe:
        """Read a recipe by name or path and apply a size, a protocol and ``section.key=value`` changes."""
        if isinstance(changes, str) or not all(isinstance(one, str) for one in changes):
            raise expected("changes", "a list of texts section.key=value", changes)
        found = [
            _table(_find(name)),
            *([_table(_found("protocols", protocol))] if protocol else []),
        ]
        # A resolved recipe says everything, and what it leaves out (a value of none) is meant.
        sized = {} if size is None or cls._is_resolved(found[0]) else _sized(size)
        tables = [sized, _extended(found[0], str(name), size), *found[1:]]
        tables.extend(_change(text) for text in changes)
        whole: dict[str, Any] = {}
        for table in tables:
            whole = _laid(whole, table, str(name))
        return cls.of(whole, str(name))

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """Read a resolved recipe."""
        return cls.of(_table(path), str(path))

    @classmethod
    def of(cls, table: Mapping[str, Any], source: str = "") -> Recipe:
        """Check a table; the first mistake is named with its section and key."""
        try:
            return checked(cls, dict(table), "")
        except RarsError as error:
            raise RarsError(f"{f'Recipe {source}'.strip()}: {error}.") from error

    @classmethod
    def _is_resolved(cls, table: Mapping[str, Any]) -> bool:
        try:
            return "extends" not in table and tomllib.loads(cls.of(table).to_toml()) == table
        except RarsError:
            return False  # named with its source where the merged table is checked

    def to_toml(self) -> str:
        """The resolved recipe; a setting without a value is left out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def _section(kind: type[S]) -> S:
    return kind.model_validate({})


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for key, value in values.items()
    }


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    folder = files("rars") / "recipes"
    return sorted(
        p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml")
    )


@dataclass(frozen=True)
class Described:
    """A recipe as it is listed: its name, one line about it, and what it extends."""

    name: str
    about: str
    system: str
    parent: str | None


def recipe_list() -> list[Described]:
    """All recipes of the package, read but not resolved."""
    found = []
    for name in recipe_names():
        table = _table(_find(name))
        system = _extended(table, name).get("system", GENERATIVE)
        found.append(Described(name, table.get("about", ""), system, table.get("extends")))
    return found


def parent_of(name: str | Path) -> str | None:
    """The recipe that this one extends."""
    return _parent(_table(_find(name)), str(name))


def _find(name: str | Path) -> Path:
    return _found("", name)


def _found(folder: str, name: str | Path) -> Path:
    """The file of a bundled name, or the .toml file that was given."""
    if str(name).endswith(".toml"):
        return Path(name)
    home = Path(str(files("rars") / "recipes")) / folder
    path = home / f"{name}.toml"
    if "/" in str(name) or not path.exists():
        known = ", ".join(sorted(p.stem for p in home.glob("*.toml")))
        what = folder.removesuffix("s") or "recipe"
        raise RarsError(
            f"There is no {what} {str(name)!r}; choose one of {known}, or a .toml file."
        )
    return path


def _sized(size: str) -> dict[str, Any]:
    if size not in SIZES:
        raise RarsError(f"There is no size {size!r}; choose one of {', '.join(SIZES)}.")
    return _table(_found("sizes", size))


def _extended(
    table: dict[str, Any], source: str, size: str | None = None, seen: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A recipe laid over the one it extends, and that over its own; with what each says of a size."""
    parent, sizes = _parent(table, source), table.get("at", {})
    own = {key: value for key, value in table.items() if key not in ("extends", "at")}
    if not isinstance(sizes, dict) or set(sizes) - set(SIZES):
        raise RarsError(f"Recipe {source}: at: names the sizes {', '.join(SIZES)} alone.")
    for one, said in sizes.items():
        if not isinstance(said, dict):
            raise RarsError(f"Recipe {source}: at.{one}: {said!r} is no table of settings.")
    own = _laid(own, sizes.get(size, {}), source)
    if parent is None:
        return own
    if parent in seen:
        raise RarsError(f"Recipe {source}: extends: {parent!r} leads back to itself.")
    below = _extended(_table(_find(parent)), parent, size, (*seen, parent))
    return _laid(below, own, source)


def _parent(table: Mapping[str, Any], source: str) -> str | None:
    """The recipe that a table extends; a file is looked for beside the one that names it."""
    parent = table.get("extends")
    if parent is None:
        return None
    if not isinstance(parent, str):
        raise RarsError(f"Recipe {source}: extends: {parent!r} is no name of a recipe.")
    beside = source.endswith(".toml") and parent.endswith(".toml")
    return str(Path(source).parent / parent) if beside else parent


def _laid(base: Mapping[str, Any], over: Mapping[str, Any], source: str) -> dict[str, Any]:
    try:
        return merged(base, over)
    except RarsError as error:
        raise RarsError(f"Recipe {source}: {error}.") from error


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RarsError(f"The recipe {path} does not exist.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RarsError(f"The recipe {path} is not readable TOML: {error}.") from error


def _change(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise RarsError(f"--set {text!r} is not of the form section.key=value.")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()  # a bare word is a string
    nested: Any = parsed
    for name in reversed(key.strip().split(".")):
        nested = {name: nested}
    table: dict[str, Any] = nested
    return table


def merged(
    base: Mapping[str, Any], over: Mapping[str, Any], place: tuple[str, ...] = ()
) -> dict[str, Any]:
    """One table laid over another; a table over a list of named entries changes the entries it names.

    >>> merged({"terms": [{"term": "tree", "weight": 0.5}]}, {"terms": {"tree": {"weight": 1}}})
    {'terms': [{'term': 'tree', 'weight': 1}]}
    >>> merged({"terms": [{"term": "tree"}, {"term": "leaf"}]}, {"terms": {"tree": False}})
    {'terms': [{'term': 'leaf'}]}
    """
    found = dict(base)
    for key, value in over.items():
        before = found.get(key)
        here = (*place, key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            found[key] = merged(before, value, here)
        elif isinstance(value, Mapping) and isinstance(before, list):
            found[key] = _entries(before, value, here)
        else:
            found[key] = value
    return found


def _entries(listed: list[Any], changes: Mapping[str, Any], place: tuple[str, ...]) -> list[Any]:
    """A list of named tables with some of them changed, added, or (False) left out."""
    named = {
        str(entry.get("name", entry.get("term"))): entry
        for entry in listed
        if isinstance(entry, Mapping)
    }
    where = ".".join(place)
    if len(named) < len(listed):
        raise RarsError(f"{where}: only entries that each have a name can be changed by it")
    left = dict(changes)
    made = []
    for name, entry in named.items():
        change = left.pop(name, {})
        if change is False:
            continue
        if not isinstance(change, Mapping):
            raise RarsError(
                f"{where}.{name}: a table changes it, false leaves it out; not {change!r}"
            )
        made.append(merged(entry, change, (*place, name)))
    for name, change in left.items():
        if not isinstance(change, Mapping) or "term" not in change:
            new = "; a new one says which term it is" if place[-1] == "terms" else ""
            raise RarsError(
                f"{where}.{name}: there is no entry of that name, only {', '.join(named)}{new}"
            )
        made.append({"name": name, **change})
    return made
