"""Scores of samples from the kernel mass of every cluster; used by `AlphaCutClustering`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from softkern._utils.typing import Array
from softkern.models.one_class_pcm import PCMScores
from softkern.models.point_scores import PointScores


class AlphaCutScores(PointScores):
    """Scores of samples, from one product with the coefficients of every cluster.

    The last column of the product (m, c + 1) is the mass that belongs to no cluster.
    """

    def __init__(self, model: Any, X: Array) -> None:
        whole = model.one_class_
        rows = whole._stored_operator().cross(X)
        self._model, self._X = model, X
        self._product = rows @ model._cluster_coefficients
        total = self._product.sum(axis=1, keepdims=True)
        geometry = rows.geometry(whole._columns, total, norms=whole._norms)
        self._whole = PCMScores(model=whole, rows=rows, geometry=geometry)

    @cached_property
    def memberships(self) -> Array:
        """Shares of the clusters in the kernel mass, (m, c)."""
        model, mass = self._model, self._product[:, :-1]
        if mass.shape[1] < 2:
            return np.ones_like(mass)
        A, operator = model._cluster_coefficients[:, :-1], model.one_class_._stored_operator()
        if model._membership_kernel is not None:
            kernel = model._membership_kernel
            operator = model.one_class_._stored_operator("memberships", kernel=kernel)
            mass = operator.cross(self._X) @ A
        if not model.kernel_.decays:
            largest = np.maximum(np.abs(mass), np.finfo(mass.dtype).tiny)
            is_top = mass == mass.max(axis=1, keepdims=True)
            mass = np.where(is_top, largest, np.maximum(mass, 0))
            return mass / mass.sum(axis=1, keepdims=True)
        mass = np.maximum(mass, 0)
        total = mass.sum(axis=1, keepdims=True)
        shares = mass / np.where(total > 0, total, 1)
        vanishing = 10 * operator.error * float(A.sum(axis=0).max())
        far = np.flatnonzero(mass.max(axis=1) <= vanishing)
        if far.size:  # the product cannot resolve these shares, but their logarithms do
            logs = operator.cross(self._X[far]).log_product(A, mass[far])
            shares[far] = softmax(logs, axis=1)
        return shares

    @cached_property
    def log_memberships(self) -> Array:
        """Logarithms of the memberships, (m, c)."""
        with np.errstate(divide="ignore"):
            return np.log(self.memberships)

    @cached_property
    def labels(self) -> NDArray[np.int_]:
        """Clusters, (m,), −1 for noise."""
        model, shares, product = self._model, self.memberships, self._product
        if shares.shape[1] == 0:
            return np.full(len(shares), -1, dtype=np.int64)
        labels = np.argmax(shares, axis=1).astype(np.int64)
        if model._noise_levels is not None:
            is_noise = product[:, -1] > product[:, :-1].max(axis=1)
            if np.isfinite(model._noise_levels).any():
                is_noise |= self._whole.scores < model._noise_levels[labels]
        else:
            # α may be the typicality of a point, which has another rounding in another batch
            is_noise = self.typicality <= model.alpha_ * (1 + 64 * np.finfo(shares.dtype).eps)
        labels[is_noise] = -1
        return labels

    @cached_property
    def typicality(self) -> Array:
        """Typicality in the one cluster of all data, (m,)."""
        return self._whole.memberships

    @cached_property
    def outlier_scores(self) -> Array:
        """Negative log density, (m,)."""
        return self._whole.outlier_scores
