"""Load real data sets: the loader of ``reproduce``, which is next to this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reproduce.datasets import data_folder, load_dataset, names

__all__ = ["data_folder", "load_dataset", "names"]
