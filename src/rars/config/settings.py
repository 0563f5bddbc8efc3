"""The sections of a recipe that are not a part's own, with their defaults and ranges.

Owns: what may be set, section by section. Ignores what the settings do, and which of several values wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    Field,
    NonNegativeInt,
    PositiveInt,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from rars.config.parts import Choice, Section, checked, part, parts
from rars.config.tables import merged
from rars.errors import RarsError

# -- identifiers -----------------------------------------------------------------------------------


class FitSettings(Section):
    """How vectors are made to follow the training judgments."""

    by: Literal["maps", "encoder"] = "maps"
    """``maps``: the frozen vectors are turned by one linear map for queries, one for items. ``encoder``: the
    recipe's own model is learned as a dual encoder; the generator then starts from it."""
    epochs: PositiveInt = 10
    learning_rate: float = Field(1e-3, gt=0)
    batch: PositiveInt = 512
    """Judged pairs in a batch; the items of the others are a pair's negatives."""
    temperature: float = Field(0.05, gt=0)


class EmbedderTuning(Section):
    """How the embedder itself is fine-tuned on the training judgments, before anything is made of it."""

    epochs: PositiveInt = 1
    """One relevant item of every training query each."""
    learning_rate: float = Field(5e-5, gt=0)
    batch: PositiveInt = 128
    """Queries in a batch; the items of the others are a query's negatives."""
    temperature: float = Field(0.05, gt=0)
    max_tokens: PositiveInt | None = None
    """Where texts are cut, from then on; left out, where the model says itself."""
    precision: Literal["bf16"] | None = None
    """While it is tuned: ``bf16`` takes about two thirds of the time where the processor knows it."""


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
    """``use``, ``t5:NAME_OR_FOLDER``, ``sentence-transformers:NAME_OR_FOLDER``, ``package:NAME``,
    ``file:PATH``, or ``auto``: the best on validation queries of those that are installed."""
    fit: FitSettings | None = None
    """Turn the vectors towards the training judgments first; without judged queries nothing is turned.
    ``true`` stands for the defaults, ``false`` for none."""
    tune: EmbedderTuning | None = None
    """Fine-tune the embedder first, a model of sentence-transformers, and keep it with the identifiers;
    without judged queries it stays as it is. ``true`` stands for the defaults."""
    collisions: str = "repair"
    """What happens to items that get the same codes: a name of ``rars.identifiers.policies``."""
    cap: PositiveInt = 5
    """Items that may share one identifier under the policy ``cap``."""
    suffixes: PositiveInt | None = None
    """Codes that a suffix may have, items beyond share; left out, as many as are needed."""
    seed: int = Field(default=42, ge=0, lt=2**31)

    @field_validator("fit", "tune", mode="before")
    @classmethod
    def _switch(cls, said: Any) -> Any:
        """On, off, or with settings of its own."""
        if isinstance(said, bool):
            return {} if said else None
        if not isinstance(said, dict | BaseModel | None):
            raise ValueError(f"true, false or a table of settings, not {said!r}")
        return said

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        part("collision policy", self.collisions)
        if self.tune is not None and not self.tunable and self.embedder != "auto":
            raise ValueError(
                "tune is for an embedder sentence-transformers:... or package:..., not "
                f"{self.embedder!r}"
            )
        learner = parts("learner")[self.learner]
        if self.sizes and not learner.takes_sizes:
            raise ValueError(
                f"learner {self.learner!r} takes no sizes: they follow from the catalogue"
            )
        if not self.sizes and learner.takes_sizes:
            raise ValueError(f"learner {self.learner!r} needs at least one codebook size")
        return self

    @property
    def tunable(self) -> bool:
        """Whether the embedder can be fine-tuned."""
        return self.embedder.startswith(("sentence-transformers:", "package:"))

    def with_embedder(self, name: str) -> Self:
        """The same with the embedder that was chosen; one that cannot be fine-tuned is taken as it is."""
        found = self.model_copy(update={"embedder": name})
        return found if found.tunable else found.model_copy(update={"tune": None})


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
    until: float | None = Field(None, gt=0, le=1)
    """The share of a phase after which the weight is nothing; it falls to that in a straight line. Left out,
    it stays what it is."""
    own: Any = Field(exclude=True)

    def at(self, progress: float) -> float:
        """The weight where a phase has come so far (0 to 1)."""
        return self.weight * (1.0 if self.until is None else max(0.0, 1.0 - progress / self.until))

    @model_validator(mode="before")
    @classmethod
    def _with_own(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        term = given.get("term", given.get("name"))
        known = part(cls.kind, term)
        mine = {"name": given.get("name", term), "weight": given.get("weight", known.weight)}
        rest = {k: v for k, v in given.items() if k not in ("term", "name", "weight", "until")}
        mine |= {"until": given["until"]} if "until" in given else {}
        return {**mine, "term": term, "own": checked(known.settings, rest, f"terms.{mine['name']}")}

    @model_serializer(mode="wrap")
    def _flat(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if written["name"] == written["term"]:
            del written["name"]
        if self.until is None:
            written.pop("until", None)
        own: dict[str, Any] = self.own.model_dump(mode="json", exclude_none=True)
        return written | own


_TAKEN = ("loss", "step", "epoch", "progress", "pairs", "validation", "validation_ndcg", "phase")
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
    least: NonNegativeInt = Field(0, exclude_if=lambda given: given == 0)
    """So many in an epoch at the least, however few queries are judged; no more than there are."""


class IndexingSettings(ShareSettings):
    """Item texts as queries whose one answer is the item itself (DSI's indexing task)."""


_EVALUATIONS = 8


class LoopSettings(Section):
    """What a phase of training may set for itself."""

    epochs: PositiveInt = 300
    steps: PositiveInt | None = Field(None, exclude_if=lambda given: given is None)
    """An epoch ends after so many batches, drawn anew for each; left out, it takes every pair."""
    learning_rate: float = Field(5e-4, gt=0)
    encoder_learning_rate: float | None = Field(None, gt=0)
    head_factor: float = Field(1.0, gt=0)
    """What a term trains for itself (the tree head) learns this many times faster."""
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.01, ge=0, le=1)
    clip: float = Field(1.0, gt=0)
    pairs: PositiveInt = 512
    """Relevant (query, item) pairs in a batch."""
    batching: Literal["pairs", "queries"] = "queries"
    """What a batch is made of. ``pairs``: shuffled single pairs, as Eq. leaf is written; losses over how
    relevance divides read all relevant items of the queries present. ``queries``: whole queries, each with
    all its pairs; every query is encoded once an epoch."""
    accumulate: PositiveInt = 1
    keep: Literal["final", "best"] = "final"
    """``best``: the checkpoint with the highest recall on validation queries; never chosen on test data."""
    evaluations: PositiveInt | None = None
    """How often the model is measured on validation queries, at even distances. Left out: eight times for
    ``keep = "best"`` and with ``patience``; else never, for it changes nothing but what the journal tells."""
    patience: int = Field(0, ge=0)
    """Stop after so many validations in a row without a better one; 0: never."""
    judged: bool = True
    """Train on the judged queries."""
    pseudo: PseudoSettings = PseudoSettings()
    indexing: IndexingSettings = IndexingSettings()

    @property
    def measured(self) -> int:
        """How often a training measures itself on validation queries."""
        usual = _EVALUATIONS if self.keep == "best" or self.patience else 0
        return usual if self.evaluations is None else self.evaluations


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
    candidates: Literal["auto", "all", "cells", "tree"] = "auto"
    """What evidence and a prior over identifiers look at: ``all`` items; those in the ``cells`` of vectors
    near the query; those that a wide pass down the ``tree`` reaches; ``auto``: all of a small catalogue, the
    cells of a large one."""
    reach: PositiveInt | None = None
    """Items that are looked at; left out, more of a larger catalogue."""
    vectors: Literal["float32", "float16", "int8"] = "float32"
    """How an index keeps the vectors of items: half and a quarter of the size, and rounded."""
    tune: bool = Field(False, exclude_if=lambda given: not given)
    """Choose the weights of the rule ``hybrid`` on validation queries once the catalogue is indexed."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if isinstance(self.categories, int) and self.categories < 1:
            raise ValueError(f"a search needs at least 1 category, not {self.categories}")
        return self


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for key, value in values.items()
    }
