"""A recipe: a whole system, resolved from tables.

Owns: in which order tables win, and what a resolved recipe writes. Ignores what the settings do.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from rars.config.parts import S, Section, checked, part, parts
from rars.config.settings import (
    IdentifierSettings,
    LoopSettings,
    ModelSettings,
    ObjectiveSettings,
    SearchSettings,
    TermSettings,
    TrainingSettings,
)
from rars.config.tables import (
    GENERATIVE,
    bundled_file,
    change_of,
    extended,
    kept_apart,
    laid_over,
    read_table,
    recipe_file,
    size_table,
    without,
)
from rars.errors import RarsError, expected


@dataclass(frozen=True)
class Phase:
    """A stretch of training with one set of terms and one schedule."""

    name: str
    terms: tuple[TermSettings, ...]
    loop: LoopSettings
    fresh: bool = False


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
        fit = self.identifiers.fit
        if (
            self.generative
            and fit is not None
            and fit.by == "encoder"
            and self.model.prior != "off"
        ):
            raise ValueError(
                "a model.prior reads frozen vectors, which identifiers.fit.by = 'encoder' leaves"
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
            read_table(recipe_file(name)),
            *([read_table(bundled_file("protocols", protocol))] if protocol else []),
        ]
        # A resolved recipe says everything, and what it leaves out (a value of none) is meant.
        sized = {} if size is None or cls._is_resolved(found[0]) else size_table(size)
        whole, keeps = kept_apart(extended(found[0], str(name), size), str(name))
        tables = [sized, whole, *(without(one, keeps) for one in found[1:])]
        tables.extend(change_of(text) for text in changes)
        whole = {}
        for table in tables:
            whole = laid_over(whole, table, str(name))
        return cls.of(whole, str(name))

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """Read a resolved recipe."""
        return cls.of(read_table(path), str(path))

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
