"""One typed section per step; TOML in, resolved TOML out; an unknown key is an error.

Owns: the recipe of a system, its defaults and ranges, and how a size and ``--set`` options change it.
Ignores what the settings do.

A recipe names parts and what differs from the defaults. It is resolved in this order, later ones winning:
defaults, the size (``recipes/sizes/NAME.toml``), the recipe file, ``--set section.key=value`` options.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Self

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from rars.errors import RarsError

SIZES = ("tiny", "small", "paper")


class Section(BaseModel):
    """A frozen table of settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Learner = Literal["residual-kmeans", "rqvae", "hierarchical-kmeans", "naive"]
Policy = Literal["share", "suffix", "repair", "cap"]

LEARNER_DEFAULTS: dict[str, dict[str, Any]] = {
    "residual-kmeans": {"sizes": (256, 256, 256, 256), "collisions": "repair"},
    "rqvae": {"sizes": (256, 256, 256, 256), "collisions": "repair"},
    "hierarchical-kmeans": {"sizes": (20, 20, 20), "collisions": "suffix"},
    "naive": {"sizes": (), "collisions": "share"},
}
"""What a learner uses where the user says nothing. Random digits are as many as the catalogue needs."""


class RqvaeSettings(Section):
    """The RQ-VAE: an MLP to ``dim`` numbers, residual codebooks, and the mirrored MLP back."""

    hidden: tuple[PositiveInt, ...] = (2048, 1024, 512, 256, 128, 64)
    dim: PositiveInt = 32
    epochs: PositiveInt = 300
    batch: PositiveInt = 2048
    lr: float = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=1e-4, ge=0)
    commitment: float = Field(default=0.25, ge=0)
    quantisation: float = Field(default=1.0, ge=0)
    """Weight of the codebook and commitment terms beside the reconstruction error."""
    epsilon: float = Field(default=0.003, gt=0)
    """Sharpness of the balanced assignment of the last level; smaller is closer to nearest-code."""
    iterations: PositiveInt = 50
    evaluate_every: PositiveInt = 10
    """Epochs between two measurements of the collision rate; the best measured epoch is kept."""
    revive: bool = True
    """Re-seed codes that no item used for a whole epoch."""


class IdentifierSettings(Section):
    """How items get their identifiers.

    >>> IdentifierSettings(learner="hierarchical-kmeans").sizes
    (20, 20, 20)
    >>> IdentifierSettings(sizes=(64, 64), collisions="cap", cap=3).learner
    'residual-kmeans'
    """

    learner: Learner = "residual-kmeans"
    sizes: tuple[PositiveInt, ...] = ()
    """Codes per depth; left out, the learner's own (4 x 256, or 20 x 20 x 20)."""
    embedder: str = "use"
    """``use``, ``t5:NAME_OR_FOLDER``, ``sentence-transformers:NAME_OR_FOLDER`` or ``file:PATH``."""
    fit: bool = False
    """Turn the vectors towards the training judgments first, by one linear map for queries and one for items
    (``[baseline]`` says how they are learned). Without judged queries nothing is turned."""
    collisions: Policy = "repair"
    cap: PositiveInt = 5
    """Items that may share one identifier under the policy ``cap``."""
    iterations: PositiveInt = 25
    """Rounds of each k-means."""
    points: PositiveInt = 256
    """Training points per centroid: a larger catalogue is sampled down to points x codes."""
    seed: int = Field(default=42, ge=0, lt=2**31)
    rqvae: RqvaeSettings = RqvaeSettings()

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        """Resolve the learner's own defaults, so that a written configuration says what was used."""
        if not isinstance(given, dict):
            return given
        learner = given.get("learner", "residual-kmeans")
        own = LEARNER_DEFAULTS.get(learner, {}) if isinstance(learner, str) else {}
        return {**own, **given}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.learner == "naive" and self.sizes:
            raise ValueError("learner 'naive' takes no sizes: its digits follow from the catalogue")
        if self.learner != "naive" and not self.sizes:
            raise ValueError(f"learner '{self.learner}' needs at least one codebook size")
        return self

    @property
    def capacity(self) -> int:
        """How many identifiers the codebooks can tell apart, before any suffix."""
        product = 1
        for size in self.sizes:
            product *= size
        return product


class ModelSettings(Section):
    """The retriever's parts."""

    backbone: str = Field("tiny", pattern=r"^(tiny|small|(t5|encoder):.+)$")
    """``tiny`` or ``small`` (offline, trained from scratch with a sentence vector), ``t5:NAME_OR_FOLDER``
    (any T5-family checkpoint), ``encoder:NAME_OR_FOLDER`` (encoder-only, with a fresh shallow decoder)."""
    decoder_layers: PositiveInt | None = None
    """Keep only the first decoder layers (or: how many a fresh decoder gets)."""
    categories: Literal["feedback", "slots", "off"] = "feedback"
    category_levels: PositiveInt = 3
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

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.prior == "identifiers" and self.normaliser != "children":
            raise ValueError("prior 'identifiers' needs normaliser 'children'")
        return self


class ObjectiveSettings(Section):
    """L = L_leaf + lambda_tree L_tree + lambda_base (L_cls + L_con)."""

    leaf: Literal["full-sid", "grouped"] = "full-sid"
    structure: Literal["none", "tree", "sampled-tree", "decoder-soft"] = "none"
    tree_weight: float = Field(0.5, ge=0)
    base_weight: float = Field(0.1, ge=0)
    relevance: Literal["linear", "binary", "exponential", "exact", "exact+substitute"] = "linear"
    siblings: Literal["high", "random", "none", "all"] = "high"
    n_siblings: PositiveInt = 32
    rank: PositiveInt = 64
    temperature: float = Field(1.0, gt=0)
    one_path: bool = False
    per_token: bool = True
    contrast: float = Field(0.1, gt=0)
    prior: Literal["inside", "beside"] = "inside"
    """Where a model has a prior. ``inside``: the decoder learns what is left to say, and how much both count.
    ``beside``: it learns by itself, and how much both count is learned on validation queries."""


class PseudoSettings(Section):
    """Queries made from the items' own fields, so that an item nobody judged can still be found."""

    share: float = Field(0.0, ge=0)
    """Pseudo-queries per judged query in an epoch; 0 switches them off."""
    weight: float = Field(0.5, gt=0)


class TrainingSettings(Section):
    """The loop."""

    epochs: PositiveInt = 300
    learning_rate: float = Field(5e-4, gt=0)
    encoder_learning_rate: float | None = Field(None, gt=0)
    head_factor: float = Field(1.0, gt=0)
    """The tree head learns this many times faster: a short training leaves its tables little time to grow."""
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.01, ge=0, le=1)
    clip: float = Field(1.0, gt=0)
    pairs: PositiveInt = 512
    """Relevant (query, item) pairs in a batch; a batch is made of whole queries."""
    accumulate: PositiveInt = 1
    precision: Literal["no", "bf16", "fp16"] = "no"
    keep: Literal["final", "best"] = "final"
    """``best``: the checkpoint with the highest recall on validation queries; never chosen on test data."""
    evaluations: PositiveInt = 8
    """How often validation recall is measured (only for ``keep = "best"``)."""
    tensorboard: bool = False
    """Write the journal for TensorBoard too (extra ``tensorboard``)."""
    checkpoint_seconds: float = Field(60.0, ge=0)
    checkpoints_kept: PositiveInt = 2
    seed: int = Field(0, ge=0, lt=2**31)
    pseudo: PseudoSettings = PseudoSettings()


System = Literal["generative", "bm25", "dense", "fusion"]

TUNING_DEFAULTS: dict[str, dict[str, Any]] = {
    "maps": {"epochs": 10, "learning_rate": 1e-3, "batch": 512},
    "encoder": {"epochs": 2, "learning_rate": 5e-5, "batch": 64},
}
"""What fine-tuning uses where the user says nothing: maps over frozen vectors, or a whole encoder."""


class BaselineSettings(Section):
    """The systems that a generative one is compared with. Weights of a fusion are chosen, never set.

    >>> BaselineSettings(embedder="sentence-transformers:all-MiniLM-L6-v2").batch
    64
    """

    k1: float = Field(1.2, ge=0)
    b: float = Field(0.75, ge=0, le=1)
    embedder: str = "use"
    """``use``, ``t5:NAME_OR_FOLDER`` or ``sentence-transformers:NAME_OR_FOLDER``."""
    fine_tune: bool = False
    """Train on the training pairs: a sentence-transformers model itself; others get a linear map for queries
    and one for items on top of their frozen vectors."""
    epochs: PositiveInt = 10
    learning_rate: float = Field(1e-3, gt=0)
    batch: PositiveInt = 512
    """Judged pairs in a batch; the items of the others are a pair's negatives."""
    temperature: float = Field(0.05, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, given: Any) -> Any:
        """Resolve the defaults of what is trained, so that a written recipe says what was used."""
        if not isinstance(given, dict):
            return given
        own = "encoder" if _is_encoder(given.get("embedder")) else "maps"
        return {**TUNING_DEFAULTS[own], **given}

    @property
    def tunes_encoder(self) -> bool:
        """Whether fine-tuning trains the embedder itself."""
        return _is_encoder(self.embedder)


def _is_encoder(embedder: object) -> bool:
    return str(embedder).startswith("sentence-transformers:")


class Recipe(Section):
    """A whole system: identifiers, model, objective, training; or a system to compare with.

    >>> Recipe.resolve("rars", size="tiny", changes=["objective.tree_weight=1"]).objective.tree_weight
    1.0
    """

    name: str = "unnamed"
    system: System = "generative"
    """``generative``, or one that has no identifiers: ``[baseline]`` holds its settings, and of the other
    sections only ``training.seed`` counts."""
    identifiers: IdentifierSettings = IdentifierSettings()
    model: ModelSettings = ModelSettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    baseline: BaselineSettings = BaselineSettings()

    @classmethod
    def resolve(
        cls, name: str | Path, *, size: str | None = None, changes: Sequence[str] = ()
    ) -> Recipe:
        """Read a recipe by name or path and apply a size and ``section.key=value`` changes."""
        named = _table(_find(name))
        sized = _sized(size) if size else {}
        # A resolved recipe says everything, and what it leaves out (a value of none) is meant.
        tables = [named] if cls._is_resolved(named) else [sized, named]
        tables.extend(_change(text) for text in changes)
        merged: dict[str, Any] = {}
        for table in tables:
            merged = _merge(merged, table)
        return cls.of(merged, str(name))

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """Read a resolved recipe."""
        return cls.of(_table(path), str(path))

    @classmethod
    def _is_resolved(cls, table: Mapping[str, Any]) -> bool:
        try:
            return tomllib.loads(cls.model_validate(table).to_toml()) == table
        except ValidationError:
            return False  # named with its source where the merged table is checked

    @classmethod
    def of(cls, table: Mapping[str, Any], source: str) -> Recipe:
        """Check a table; the first mistake is named with its section and key."""
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            if first["type"] == "extra_forbidden":
                raise RarsError(f"Recipe {source}: there is no setting {key!r}.") from error
            message = first["msg"].removeprefix("Value error, ")
            if first["type"] == "string_pattern_mismatch":
                message = f"{first['input']!r} is none of tiny, small, t5:NAME, encoder:NAME"
            raise RarsError(f"Recipe {source}: {key or 'recipe'}: {message}.") from error

    def to_toml(self) -> str:
        """The resolved recipe; a setting without a value is left out."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    folder = files("rars") / "recipes"
    return sorted(
        p.name.removesuffix(".toml") for p in folder.iterdir() if p.name.endswith(".toml")
    )


def _find(name: str | Path) -> Path:
    if str(name).endswith(".toml"):
        return Path(name)
    found = Path(str(files("rars") / "recipes" / f"{name}.toml"))
    if not found.exists():
        known = ", ".join(recipe_names())
        raise RarsError(
            f"There is no recipe {str(name)!r}; choose one of {known}, or a .toml file."
        )
    return found


def _sized(size: str) -> dict[str, Any]:
    if size not in SIZES:
        raise RarsError(f"There is no size {size!r}; choose one of {', '.join(SIZES)}.")
    return _table(Path(str(files("rars") / "recipes" / "sizes" / f"{size}.toml")))


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
    for part in reversed(key.strip().split(".")):
        nested = {part: nested}
    table: dict[str, Any] = nested
    return table


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), dict)
        merged[key] = _merge(merged[key], value) if both else value
    return merged
