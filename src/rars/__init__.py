"""rars: hierarchical generative retrieval, trained to know how relevance divides at every branch.

The public names; everything the command line does is done with these. They are imported when they are first
asked for: ``import rars`` alone stays light.

>>> import tempfile
>>> from rars import Dataset
>>> mugs = Dataset.of(
...     items=[{"id": "a", "title": "Red mug"}, {"id": "b", "title": "Blue mug"}],
...     queries=[{"id": "q", "text": "mug that is red", "split": "test"}],
...     judgments=[{"query_id": "q", "item_id": "a", "label": "E"}],
... )
>>> mugs.n_items, mugs.query_texts[0].as_py()
(2, 'mug that is red')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rars.config import Recipe as Recipe
    from rars.data import Dataset as Dataset
    from rars.errors import RarsError as RarsError
    from rars.evaluation import Comparison as Comparison
    from rars.experiments import experiment as experiment
    from rars.pipeline import Evaluation as Evaluation
    from rars.pipeline import compare as compare
    from rars.pipeline import evaluate as evaluate
    from rars.pipeline import identify as identify
    from rars.pipeline import index as index
    from rars.pipeline import train as train
    from rars.runs import Run as Run
    from rars.search.retriever import Retriever as Retriever
    from rars.systems import Hit as Hit
    from rars.systems import System as System

_PUBLIC = {
    "Comparison": "rars.evaluation",
    "Dataset": "rars.data",
    "Evaluation": "rars.pipeline",
    "Hit": "rars.systems",
    "RarsError": "rars.errors",
    "Recipe": "rars.config",
    "Retriever": "rars.search.retriever",
    "Run": "rars.runs",
    "System": "rars.systems",
    "compare": "rars.pipeline",
    "evaluate": "rars.pipeline",
    "experiment": "rars.experiments",
    "identify": "rars.pipeline",
    "index": "rars.pipeline",
    "train": "rars.pipeline",
}

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("rars")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'rars' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
