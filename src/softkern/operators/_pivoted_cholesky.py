"""Randomly pivoted Cholesky: a partial factor K ≈ F Fᵀ on landmarks.

Landmarks are drawn with probability proportional to the part of the diagonal that is not yet
explained, which comes close to the best factor of its rank for any kernel. They may also be drawn
uniformly, or be given. The factor stays on the device of the points; landmarks are selected on
the host, and do not depend on the order of the samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import device, is_numpy_array
from scipy.linalg.blas import dtrsm

from softkern._utils.arrays import like, namespace, on_host
from softkern._utils.random import child_seed
from softkern._utils.typing import Array
from softkern.operators.base import row_blocks
from softkern.rows import Rows, row_uniforms

PANEL = 100  # landmarks proposed at once
# block(rows, columns) returns kernel values (len(rows), len(columns)), on a device or the host
Block = Callable[[Any, Any], Any]
UNIFORM_ROWS = 10_000  # that uniform landmarks are drawn from


class PivotedCholesky:
    """A partial Cholesky factor, extended by one panel of landmarks at a time.

    `panels` are Fᵀ in pieces (t, n), and `residual` is diag(K − F Fᵀ). The name of the kernel is
    for error messages.
    """

    def __init__(self, diagonal: Array, dtype: Any, name: str) -> None:
        self.dtype, self.name = dtype, name
        self.largest = float(diagonal.max())
        self.residual = diagonal.astype(np.float64)
        if (self.residual < 0).any():
            raise ValueError(f"{name} is not positive semidefinite: k(x, x) < 0 occurs.")
        self.panels: list[Any] = []
        self.landmarks = np.empty(0, dtype=np.intp)

    def extend(
        self, block: Block, proposals: Proposals, rank: int, is_done: Callable[[], bool]
    ) -> None:
        """Add landmarks until the rank is reached, or `is_done`."""
        floor = 100 * np.finfo(self.dtype).eps * self.largest
        while self.landmarks.size < rank and not is_done():
            size = min(PANEL, rank - self.landmarks.size)
            candidates = proposals.draw(size, self.residual)
            if candidates.size == 0:
                break
            accepted = self._accept(block, candidates, proposals, floor)
            if accepted.size:
                self._add_panel(block, accepted)

    def _accept(self, block: Block, candidates: Array, proposals: Proposals, floor: float) -> Array:
        """Select the candidates that a one-by-one factorization would have drawn as well."""
        square = np.asarray(on_host(block(candidates, candidates))).astype(np.float64)
        for panel in self.panels:
            part = on_host(panel[:, candidates]).astype(np.float64)
            square -= part.T @ part
        before = square.diagonal().copy()
        self.residual[candidates[before <= floor]] = 0  # the rest of them is rounding
        accepted: list[int] = []
        for i in range(candidates.size):
            if square[i, i] > floor and proposals.keep(square[i, i] / before[i]):
                accepted.append(i)
                column = square[i:, i] / np.sqrt(square[i, i])
                square[i:, i:] -= np.outer(column, column)
        return np.asarray(candidates[accepted])

    def _add_panel(self, block: Block, chosen: Array) -> None:
        """Add rows of Fᵀ for new landmarks, and subtract the part of the diagonal they explain."""
        n = self.residual.size
        known = [panel[:, chosen] for panel in self.panels]
        square = on_host(self._unexplained(block, chosen, chosen, known))
        square = np.asarray((square + square.T) / 2, dtype=np.float64)
        lower = np.linalg.cholesky(square + 1e-14 * np.trace(square) * np.eye(chosen.size))
        panel: Any = None
        explained = np.empty(n)
        for rows in row_blocks(n, 4 * chosen.size, 8):
            values = self._unexplained(block, chosen, rows, known)
            if panel is None:
                xp = namespace(values)
                dtype = self.dtype if is_numpy_array(values) else values.dtype
                panel = xp.empty((chosen.size, n), dtype=dtype, device=device(values))
            solved = _solve_lower(lower, values)
            panel[:, rows] = solved
            explained[rows] = on_host((solved * solved).sum(axis=0))
        residual = self.residual - explained
        if (residual < -1e-2 * self.largest).any():
            raise ValueError(
                f"{self.name} is not positive semidefinite on these data, and has no Cholesky "
                "factor; use engine='blocked'."
            )
        self.residual = np.maximum(residual, 0)
        self.residual[chosen] = 0
        self.panels.append(panel)
        self.landmarks = np.concatenate([self.landmarks, chosen])

    def _unexplained(self, block: Block, chosen: Array, rows: Any, known: list[Any]) -> Any:
        """K(chosen, rows) minus the part that the panels so far explain, (t, rows)."""
        values = block(chosen, rows)
        for panel, part in zip(self.panels, known, strict=True):
            values -= part.T @ panel[:, rows]
        return values


def _solve_lower(lower: Array, values: Any) -> Any:
    """lower⁻¹ values, (t, m), in float64."""
    if is_numpy_array(values):  # on the transposes, whose memory layout BLAS needs
        return dtrsm(1.0, lower, values.T.astype(np.float64), side=1, trans_a=1, lower=1).T
    xp = namespace(values)
    return xp.linalg.solve(like(lower, values), xp.astype(values, xp.float64))


class Proposals:
    """Candidate landmarks, drawn in the same way for any order of the samples.

    `landmarks` are "rpcholesky", "uniform" or row numbers.
    """

    def __init__(self, landmarks: Any, rows: Rows, generator: np.random.RandomState) -> None:
        self.generator, n = generator, rows.shape[0]
        self.queue: Array | None = None
        if isinstance(landmarks, str) and landmarks == "rpcholesky":
            self.index, self.weight = rows.canonical
        elif isinstance(landmarks, str) and landmarks == "uniform":
            index, _ = rows.sample(min(n, UNIFORM_ROWS), generator)
            uniforms = row_uniforms(rows.X[index], child_seed(generator))
            self.queue = index[np.argsort(uniforms)]
        elif isinstance(landmarks, str):
            raise ValueError(
                f"landmarks={landmarks!r} is unknown; give 'rpcholesky', 'uniform' or row numbers."
            )
        else:
            self.queue = np.unique(np.asarray(landmarks, dtype=np.intp))
            if self.queue.size == 0 or self.queue[0] < 0 or self.queue[-1] >= n:
                raise ValueError(f"landmarks must be row numbers between 0 and {n - 1}.")

    def draw(self, size: int, residual: Array) -> Array:
        """Draw up to `size` candidates by the residual (n,) of the diagonal."""
        if self.queue is not None:
            drawn, self.queue = self.queue[:size], self.queue[size:]
            return drawn
        mass = np.cumsum(self.weight * residual[self.index])
        if not mass[-1] > 0:
            return self.index[:0]
        at = np.searchsorted(mass, self.generator.uniform(0, mass[-1], size), side="right")
        drawn = self.index[np.minimum(at, len(self.index) - 1)]
        # draws keep their order, and a row drawn twice is used once
        return np.asarray(drawn[np.sort(np.unique(drawn, return_index=True)[1])])

    def keep(self, share: float) -> bool:
        """Decide whether a candidate stays that has lost part of its residual since the draw."""
        return self.queue is not None or self.generator.uniform() < share
