"""Sections of settings, and the parts that recipes name.

Owns: where the table of every kind of part is, how a table of settings is checked, and a section one key of
which chooses a part (``Choice``). Ignores what parts there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from rars.errors import RarsError

PARTS = {
    "embedder": ("rars.identifiers.embedders", "EMBEDDERS"),
    "own encoder": ("rars.training.own_encoder", "OWN"),
    "learner": ("rars.identifiers.learners", "LEARNERS"),
    "collision policy": ("rars.identifiers.policies", "POLICIES"),
    "quantisation term": ("rars.identifiers.quantisation", "TERMS"),
    "objective term": ("rars.objectives", "TERMS"),
    "source of candidates": ("rars.training.candidates", "SOURCES"),
    "rule": ("rars.search.rules", "RULES"),
    "evidence": ("rars.search.evidence.parts", "EVIDENCE"),
    "system": ("rars.baselines", "SYSTEMS"),
    "tuning": ("rars.baselines.tunings", "TUNINGS"),
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
