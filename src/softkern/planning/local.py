"""Operators over points in memory, for new points and for the blocks of Dask arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sklearn import config_context

from softkern.kernels import Kernel
from softkern.operators.base import KernelOperator
from softkern.planning.engines import ENGINES, exact_engine
from softkern.planning.problem import problem_at

__all__ = ["LocalOperator"]


@dataclass(frozen=True)
class LocalOperator:
    """Builds operators over points in memory, of an engine where that serves new points.

    Otherwise, exact ones without the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from softkern.kernels import Gaussian
    >>> LocalOperator(Gaussian(1.0))(np.zeros((3, 2))).engine
    'tiled'
    """

    kernel: Kernel
    engine: str = "auto"
    options: dict[str, Any] = field(default_factory=dict, hash=False)

    def __call__(self, support: Any) -> KernelOperator:
        """Build the operator over support points."""
        problem = problem_at(support, self.kernel)
        engine, options = ENGINES.get(self.engine), self.options
        if engine is None or not engine.predicts or engine.unsupported_reason(problem, options):
            engine, options = exact_engine(problem), {}
        with config_context(assume_finite=True):
            return engine.build(self.kernel, support, **engine.known(options))
