"""The identifier tree as flat arrays, and one relevance measure projected onto it. Needs NumPy alone."""

from __future__ import annotations

from rars.tree.ambiguity import Ambiguity, ambiguity
from rars.tree.prefix_tree import END, PrefixTree
from rars.tree.relevance import Level, Projection, Relevance, project
from rars.tree.vocabulary import SidVocabulary, code_name

__all__ = [
    "END",
    "Ambiguity",
    "Level",
    "PrefixTree",
    "Projection",
    "Relevance",
    "SidVocabulary",
    "ambiguity",
    "code_name",
    "project",
]
