"""rars: hierarchical generative retrieval, trained to know how relevance divides at every branch."""

from __future__ import annotations

from importlib.metadata import version

__version__ = version("rars")
