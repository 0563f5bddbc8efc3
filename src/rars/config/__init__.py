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

from rars.config.parts import PARTS, Choice, NoSettings, Section, checked, part, parts
from rars.config.recipe import Phase, Recipe
from rars.config.settings import (
    EmbedderTuning,
    FitSettings,
    IdentifierSettings,
    IndexingSettings,
    LoopSettings,
    ModelSettings,
    ObjectiveSettings,
    PhaseSettings,
    PseudoSettings,
    SearchSettings,
    ShareSettings,
    TermSettings,
    TrainingSettings,
)
from rars.config.tables import (
    GENERATIVE,
    SIZES,
    Described,
    merged,
    parent_of,
    recipe_list,
    recipe_names,
)

__all__ = [
    "GENERATIVE",
    "PARTS",
    "SIZES",
    "Choice",
    "Described",
    "EmbedderTuning",
    "FitSettings",
    "IdentifierSettings",
    "IndexingSettings",
    "LoopSettings",
    "ModelSettings",
    "NoSettings",
    "ObjectiveSettings",
    "Phase",
    "PhaseSettings",
    "PseudoSettings",
    "Recipe",
    "SearchSettings",
    "Section",
    "ShareSettings",
    "TermSettings",
    "TrainingSettings",
    "checked",
    "merged",
    "parent_of",
    "part",
    "parts",
    "recipe_list",
    "recipe_names",
]
