"""K @ A exactly and without the matrix: Gaussian values live for one tile and are gone.

Distance, exponential and weighted sum are fused (`_gaussian_tiles`), vectorized, and run on all
threads. Tiles that are too far from a block of rows to matter are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from softkern._utils.progress import stage
from softkern._utils.threads import available_threads
from softkern._utils.typing import Array
from softkern.kernels import Gaussian, Kernel
from softkern.operators.base import KernelOperator, ProblemSize, blocked_product
from softkern.operators.ordering import Ordering
from softkern.rows import row_slices

# Pairs of points up to which blocks of kernel values are used, so that nothing is compiled. Above,
# compiled tiles are two to five times as fast.
DENSE_PAIRS = 250_000
COLUMNS_AT_ONCE = 64
ROWS_PER_TASK = 1024
TILE = 512
GROUPS = 128  # of tiles that meet in rounds; half as many threads have work
LONG_WORK = 10_000_000_000  # numbers of all pairs, from which on progress is reported
CUTOFF = 64.0  # kernel values below 2^−64 are nothing: the rounding of one at zero distance
SKIPPING_WIDTH = 4 * CUTOFF  # twice the distance at which the kernel is nothing, squared, base 2
REACH = float(np.sqrt(2 * CUTOFF * np.log(2.0)))  # that distance in bandwidths
KEPT_DIGITS = 1e4  # times the cutoff: a smaller sum may have lost a visible part to it


class TiledOperator(KernelOperator):
    """The Gaussian computed tile by tile, every time it is multiplied.

    Memory is that of the data. Small products use kernel values, and few points keep theirs.

    Parameters
    ----------
    kernel : softkern.kernels.Gaussian
    X : array of shape (n, d)
    threads : int, default=None
        None uses as many as are available. The result does not depend on them.
    """

    engine: ClassVar[str] = "tiled"
    kernel: Gaussian

    def __init__(self, kernel: Kernel, X: Any, threads: int | None = None) -> None:
        super().__init__(kernel, X)
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads!r}.")
        self.threads = threads

    @cached_property
    def _tiles(self) -> _GaussianTiles:
        return _GaussianTiles(self.kernel, self.X)

    @cached_property
    def _matrix(self) -> Array:
        return self.kernel.block(self.X, self.X)

    def _product(self, A: Array) -> Array:
        if self.shape[0] ** 2 <= DENSE_PAIRS:
            return self._matrix @ A
        return self._tiles.product(None, A, self.threads)

    def _cross_product(self, X_new: Any, A: Array) -> Array:
        if X_new.shape[0] * self.shape[0] <= DENSE_PAIRS:
            return blocked_product(self.kernel, X_new, self.X, A)
        return self._tiles.product(X_new, A, self.threads)

    def partial_product(self, index: Any, A: Any) -> Array:
        if 2 * len(index) > self.shape[0]:
            return super().partial_product(index, A)
        points, weights = self.X[index], np.ascontiguousarray(A, self.dtype)
        if len(index) * self.shape[0] <= DENSE_PAIRS:
            return blocked_product(self.kernel, self.X, points, weights)
        return _GaussianTiles(self.kernel, points).product(self.X, weights, self.threads)

    def _doubtful(self, product: Array, A: Array) -> Array:
        # smaller kernel values were left out
        return np.asarray(product <= KEPT_DIGITS * 2.0**-CUTOFF * A.sum(axis=0))

    @classmethod
    def unsupported_reason(cls, problem: ProblemSize) -> str | None:
        if not isinstance(problem.kernel, Gaussian):
            return f"it needs the Gaussian kernel, not {type(problem.kernel).__name__}"
        return "it needs a dense array" if problem.is_sparse else None


def _rounds(count: int) -> list[list[tuple[int, int]]]:
    """Rounds of pairs: first each with itself, then all pairs, none twice in a round."""
    rounds = [[(k, k) for k in range(count)]]
    for total in range(count):  # of both numbers, up to a multiple of the count
        pairs = ((k, (total - k) % count) for k in range(count))
        rounds.append([(i, j) for i, j in pairs if i < j])
    return rounds


def padded_columns(d: int) -> int:
    """The number of columns in a tile: two, or a multiple of four."""
    return 2 if d <= 2 else -(-d // 4) * 4


class _GaussianTiles:
    """Support points in tiles, centered and scaled so that K = 2^(−‖x − y‖²).

    Where data are wide in bandwidths, a tile contains neighbors, and most tiles are too far to
    matter.
    """

    def __init__(self, kernel: Gaussian, X: Array) -> None:
        self.X, self.dtype = X, X.dtype
        self.offset = np.median(X, axis=0).astype(np.float64)
        bandwidth = np.broadcast_to(np.asarray(kernel.bandwidth), (X.shape[1],))
        self.scale = np.sqrt(math.log2(math.e) / 2) / bandwidth
        self.n, d = X.shape
        extent = (X.max(axis=0).astype(np.float64) - X.min(axis=0)) * self.scale
        extent = np.minimum(extent, SKIPPING_WIDTH)  # more is wide enough, and squares may overflow
        self.order, self.ordering, breaks = np.arange(self.n), None, list[int]()
        if np.square(extent).sum() > SKIPPING_WIDTH and self.n > TILE:
            self.ordering = Ordering(X, self.scaled, math.sqrt(CUTOFF))
            self.order, breaks = self.ordering.order(X)
        if self.n < 2 * TILE * (len(breaks) + 1):  # parts would often be shorter than a tile
            breaks = []
        ends = [0, *breaks, self.n]
        self.parts = [
            slice(first + part.start, first + part.stop)
            for first, end in pairwise(ends)
            for part in row_slices(end - first, TILE)
        ]
        self.center, self.low, self.high = np.zeros((3, len(self.parts), padded_columns(d)))
        self.radius = np.zeros(len(self.parts))
        self.support = self._tiled(padded_columns(d), self._local_coordinates())

    def scaled(self, rows: Array) -> Array:
        """Coordinates in which the kernel is a power of two, in float64."""
        with np.errstate(over="ignore"):  # of new points infinitely many bandwidths away
            return np.asarray((rows - self.offset) * self.scale)

    def _tiled(self, width: int, parts: Iterable[Array]) -> Array:
        """Rows of all tiles as (tiles, width, 512), zero where there is no row or column."""
        tiles = np.zeros((len(self.parts), width, TILE), dtype=self.dtype)
        for tile, rows in zip(tiles, parts, strict=True):
            tile[: rows.shape[1], : rows.shape[0]] = rows.T
        return tiles

    def _local_coordinates(self) -> Iterator[Array]:
        """Coordinates of tiles around their own centers: small numbers, whose digits all count."""
        d = self.X.shape[1]
        for tile, part in enumerate(self.parts):
            coordinates = self.scaled(self.X[self.order[part]])
            self.low[tile, :d] = coordinates.min(axis=0)
            self.high[tile, :d] = coordinates.max(axis=0)
            self.center[tile, :d] = np.median(coordinates, axis=0)
            local = coordinates - self.center[tile, :d]
            with np.errstate(over="ignore"):  # an endless ball is near to all
                self.radius[tile] = np.sqrt(np.square(local).sum(axis=1).max())
            yield local

    def _progress(self, m: int, c: int, total: int) -> AbstractContextManager[Any]:
        """Report the progress of a product of m rows with c columns, unless it is short."""
        is_long = m * self.n * (self.support.shape[1] + c) > LONG_WORK
        return stage("similarities", total=total) if is_long else nullcontext(lambda done: None)

    def product(self, X_new: Array | None, A: Array, threads: int | None) -> Array:
        """K(X_new, X) @ A, (m, c); None stands for X itself."""
        rows, threads = self.X if X_new is None else X_new, threads or available_threads()
        with nullcontext() if threads == 1 else ThreadPoolExecutor(threads) as pool:
            run = map if pool is None else pool.map
            if X_new is None and A.shape[1] == 1 and len(self.parts) > 1:
                return self._product_with_itself(A, run)
            if X_new is None:
                order = self.order
            elif self.ordering is None or len(rows) <= TILE:
                order = np.arange(len(rows))
            else:
                order, _ = self.ordering.order(rows)
            out = np.empty((len(rows), A.shape[1]), dtype=self.dtype)
            for columns in row_slices(A.shape[1], COLUMNS_AT_ONCE):
                self._fill(rows, order, A[:, columns], out[:, columns], threads, run)
        return out

    def _product_with_itself(self, a: Array, run: Callable[..., Any]) -> Array:
        """K @ a, (n, 1), every kernel value computed once for both of its points.

        Groups of tiles meet in rounds, as in a tournament: of each round no two tasks have a group
        in common, so that threads do not wait for each other, and every sum has one order.
        """
        from softkern.operators._gaussian_tiles import gaussian_pairs

        weights = self._tiled(1, (a[self.order[part]] for part in self.parts))
        counts = np.array([part.stop - part.start for part in self.parts])
        sums = np.zeros((len(self.parts), TILE, 1))
        ends = np.linspace(0, len(self.parts), min(len(self.parts), GROUPS) + 1).astype(int)
        boxes = self.center, self.radius, self.low, self.high

        def task(pair: tuple[int, int]) -> None:
            rows, others = ((ends[g], ends[g + 1]) for g in pair)
            gaussian_pairs(self.support, *boxes, counts, weights, CUTOFF, rows, others, sums)

        meetings = _rounds(len(ends) - 1)
        with self._progress(self.n, 1, len(meetings)) as done:
            for number, pairs in enumerate(meetings, 1):
                list(run(task, pairs))
                done(number)
        out = np.empty((self.n, 1), dtype=self.dtype)
        for t, part in enumerate(self.parts):
            out[self.order[part]] = sums[t, : counts[t]]
        return out

    def _fill(
        self, rows: Array, order: Array, A: Array, out: Array, threads: int, run: Callable[..., Any]
    ) -> None:
        """Columns of the product, tasks of rows shared out among threads."""
        from softkern.operators._gaussian_tiles import ROW_BLOCK, gaussian_rows

        m, c = out.shape
        padded_c = 1 if c == 1 else -(-c // 4) * 4
        weights = self._tiled(padded_c, (A[self.order[part]] for part in self.parts))
        share = -(-m // (4 * threads * ROW_BLOCK)) * ROW_BLOCK  # some tasks a thread, to balance
        rows_per_task = min(ROWS_PER_TASK, share)
        boxes = self.center, self.radius, self.low, self.high

        def task(start: int) -> None:
            index = order[start : start + rows_per_task]
            coordinates = self.scaled(rows[index])
            # four rows go together: the last is repeated where some are missing
            queries = np.zeros((-(-len(index) // 4) * 4, self.support.shape[1]))
            queries[: len(index), : coordinates.shape[1]] = coordinates
            queries[len(index) :] = queries[len(index) - 1]
            sums = np.empty((len(queries), padded_c))
            gaussian_rows(queries, self.support, *boxes, weights, CUTOFF, sums)
            out[index] = sums[: len(index), :c]

        with self._progress(m, c, m) as done:
            for number, _ in enumerate(run(task, range(0, m, rows_per_task)), 1):
                done(min(m, number * rows_per_task))
