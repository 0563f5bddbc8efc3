"""A stored model's configuration, checked before anything is made of it.

Owns: which fields ``config.json`` has, of which type and within which bounds, and that the weights beside it
can hold what it asks for: a file that asks for a terabyte is one sentence, not an allocation. Ignores how a
model is put together (``saving``) and what a backbone may say of itself (``backbone.plain``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rars import disk
from rars.errors import RarsError
from rars.model import backbone as backbones
from rars.model.stacks import Shape

KIND = "rars-retriever"

_MANY = 2**31 - 1
Count = Annotated[int, Field(ge=1, le=_MANY)]
Width = Annotated[int, Field(ge=0, le=_MANY)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class _Tokenizer(_Strict):
    pad: int = Field(ge=0, le=_MANY)
    end: Annotated[int, Field(ge=0, le=_MANY)] | None
    max_tokens: Count


class _Backbone(_Strict):
    encoder: dict[str, Any]
    decoder: dict[str, Any] | None
    layers: Count | None


class _Stored(_Strict):
    """The fields of ``saving.Architecture``."""

    backbone: _Backbone
    sizes: list[Count] = Field(min_length=1, max_length=64)
    ends: list[bool]
    categories: list[Width] = Field(
        max_length=64
    )  # of small catalogues, earlier versions kept empty levels
    category_mode: Literal["feedback", "slots", "off"]
    vector: Width
    vector_tokens: Width
    prior: Width
    prior_form: Literal["off", "codes", "identifiers"]
    normaliser: Literal["depth", "children"]
    embedder: str
    tokenizer: _Tokenizer

    @model_validator(mode="after")
    def _as_long(self) -> _Stored:
        if len(self.ends) != len(self.sizes):
            raise ValueError(f"ends has {len(self.ends)} values, but sizes {len(self.sizes)}")
        return self


def read(path: Path, weights: Path) -> dict[str, Any]:
    """The fields of a stored configuration; ``weights`` is the file beside it."""
    saved = disk.read_json(path)
    if not isinstance(saved, dict) or saved.pop("model_type", None) != KIND:
        raise RarsError(f"{path} does not describe a rars retriever.")
    try:
        checked = _Stored.model_validate(saved)
    except ValidationError as error:
        raise _sentence(path, error) from error
    width = 0
    for part in ("encoder", "decoder"):
        config = saved["backbone"][part]
        if config is not None:
            width = max(width, _width(config, f"{path}, field backbone.{part}", weights))
    codes = sum(checked.sizes)
    _refuse_more(width * codes, f"{path}, field sizes", weights)
    _refuse_more(width * sum(checked.categories), f"{path}, field categories", weights)
    _refuse_more(checked.prior * codes, f"{path}, field prior", weights)
    read = checked.vector * checked.vector_tokens * width
    _refuse_more(read, f"{path}, field vector", weights)
    return saved


def _sentence(path: Path, error: ValidationError) -> RarsError:
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] in ("missing", "extra_forbidden"):
        which = "lacks" if first["type"] == "missing" else "has the unknown"
        return RarsError(
            f"{path} is of another version of rars (it {which} field {field!r}); train the model again."
        )
    message = first["msg"].removeprefix("Value error, ")
    return RarsError(
        f"{path}{f', field {field}' if field else ''}: {message[:1].lower()}{message[1:]}."
    )


_BOUNDS = {
    "vocabulary": (("vocab_size",), _MANY),
    "width": (("d_model", "hidden_size", "dim"), 2**20),
    "inner": (("d_ff", "intermediate_size", "hidden_dim"), 2**24),
    "layers": (("num_layers", "num_hidden_layers", "n_layers"), 1000),
    "decoder layers": (("num_decoder_layers",), 1000),
    "heads": (("num_heads", "num_attention_heads", "n_heads"), 2**16),
    "head": (("d_kv", "head_dim"), 2**16),
    "embedding": (("embedding_size",), 2**20),
    "positions": (("max_position_embeddings",), 2**20),
    "buckets": (("relative_attention_num_buckets",), 2**16),
}
"""Sizes of a stack, by the names that families give them, and the most that any has."""


def _width(config: dict[str, Any], field: str, weights: Path) -> int:
    """The width of a stack, once its numbers are sane and its largest tables can be in the weights."""
    if Shape.of(config) is None:  # a family that the library makes
        try:
            backbones.plain(config)
        except RarsError as error:
            raise RarsError(f"{field}: {error}.") from error
    size = dict.fromkeys(_BOUNDS, 0)
    for meaning, (names, most) in _BOUNDS.items():
        for name in names:
            value = config.get(name)
            if value is None:
                continue
            if type(value) is not int or not 0 <= value <= most:
                raise RarsError(f"{field}.{name}: {value!r:.60} is no size up to {most:,}.")
            size[meaning] = value
    for name, value in config.items():
        odd = isinstance(value, float) and not abs(value) < 1e9
        if odd or (type(value) is int and abs(value) > 2**62):
            raise RarsError(f"{field}.{name}: {value!r:.60} is out of bounds.")
    width = size["width"]
    table = size["vocabulary"] * (size["embedding"] or width)
    layer = max(size["inner"], size["heads"] * size["head"]) * width
    # Families other than T5 may have one layer stand for all.
    layers = size["layers"] if Shape.of(config) is not None else 1
    _refuse_more(table + layers * layer, field, weights)
    return width


def _refuse_more(numbers: int, where: str, weights: Path) -> None:
    """A number in the weights takes a byte at least."""
    try:
        there = weights.stat().st_size
    except OSError as error:
        raise RarsError(f"{weights} cannot be read: {error.strerror}.") from error
    if numbers > there:
        raise RarsError(
            f"{weights} does not fit {where}: it has {there:,} bytes, and {numbers:,} numbers are asked for."
        )
