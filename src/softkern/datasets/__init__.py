"""Data to try the models on: the papers' synthetic sets, and named real ones."""

from softkern.datasets.folder import data_folder, load_dataset, names
from softkern.datasets.generators import (
    make_dense_regions,
    make_gaussian_outliers,
    make_ring_outliers,
    make_six_clusters,
    make_two_groups_outliers,
)

__all__ = [
    "data_folder",
    "load_dataset",
    "make_dense_regions",
    "make_gaussian_outliers",
    "make_ring_outliers",
    "make_six_clusters",
    "make_two_groups_outliers",
    "names",
]
