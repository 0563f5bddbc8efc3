"""What is searched: datasets on disk and in memory, readers, the bundled shop, splits."""

from __future__ import annotations

from rars.data.dataset import Dataset, Judgments
from rars.data.folder import DatasetWriter, writing_dataset

__all__ = ["Dataset", "DatasetWriter", "Judgments", "writing_dataset"]
