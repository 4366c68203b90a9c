"""Data to try the models on: the papers' synthetic sets, and named real ones."""

from softkern.datasets.folder import data_folder, load_dataset, load_documents, names
from softkern.datasets.generators import (
    make_dense_regions,
    make_gaussian_outliers,
    make_ring_outliers,
    make_six_clusters,
    make_three_gaussians,
    make_two_groups_outliers,
)

__all__ = [
    "data_folder",
    "load_dataset",
    "load_documents",
    "make_dense_regions",
    "make_gaussian_outliers",
    "make_ring_outliers",
    "make_six_clusters",
    "make_three_gaussians",
    "make_two_groups_outliers",
    "names",
]
