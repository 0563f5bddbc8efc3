"""rars: hierarchical generative retrieval, trained to know how relevance divides at every branch."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rars.data import Dataset as Dataset
    from rars.search.retriever import Hit as Hit
    from rars.search.retriever import Retriever as Retriever

__version__ = version("rars")

_PUBLIC = {
    "Dataset": "rars.data",
    "Hit": "rars.search.retriever",
    "Retriever": "rars.search.retriever",
}

__all__ = ["Dataset", "Hit", "Retriever", "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for: ``import rars`` alone stays light."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'rars' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
