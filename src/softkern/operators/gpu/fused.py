"""Products by compiled loops, for the Gaussian and Laplacian kernel on a GPU.

The support lies in frames of neighbors (`frames`). Every block of queries visits only the frames
that are near enough to matter. The loops themselves are in `kernels`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from softkern.kernels import Gaussian, Kernel, Laplacian
from softkern.operators.gpu.frames import FRAME, in_frames, places_in_frames

BLOCK = 128  # query rows that share a list of near frames
CUTOFF = 64.0  # kernel values below 2^−64 are negligible
WIDE = 36.0  # squared radius of a frame above which products of halves lose digits
SHIFT = 15.0  # halves hold kernel values times 2^15, so that small ones keep their digits
MOST_ENTRIES = 2**26  # of the lists of near frames that are held at once
WIDEST_PRODUCTS = 256  # padded columns whose tiles fit into the memory of a multiprocessor
UNROLLED = 3  # columns up to which differences are faster than products
COLUMN_GROUP = 32  # columns of A at once


def has_fused(kernel: Kernel, device: torch.device) -> bool:
    """Whether compiled loops can serve: a kernel of x − y, on a GPU, with Triton."""
    if not isinstance(kernel, Gaussian | Laplacian) or find_spec("triton") is None:
        return False
    return device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"


@dataclass(frozen=True)
class _Blocks:
    """Rows in blocks: where each stands, its coordinates, and the blocks' boxes."""

    place: Any  # (rows,) of every row, among the padded
    size: int  # padded
    columns: tuple[Any, Any]  # (d, size) in bandwidths, and what they leave out
    low: Any  # (blocks, d)
    high: Any


class FusedPoints:
    """A support for the compiled loops.

    `precision`, "float32" or "float64", is that of kernel values. `share` is the number of this
    share of the queries, and how many shares there are: the sums of the others are zero.
    """

    def __init__(
        self, kernel: Kernel, points: Any, precision: str, share: tuple[int, int] = (0, 1)
    ) -> None:
        self.kernel, self.device, self.share = kernel, points.device, share
        self.d = points.shape[1]
        self.is_square = isinstance(kernel, Gaussian)
        self.kind = torch.float64 if precision == "float64" else torch.float32
        unit = math.sqrt(math.log2(math.e) / 2) if self.is_square else math.log2(math.e)
        bandwidth = np.broadcast_to(np.asarray(kernel.bandwidth), (self.d,))  # type: ignore[attr-defined]
        self.scale = torch.as_tensor(unit / bandwidth, device=self.device)
        self.origin = points.to(torch.float64).median(dim=0).values
        scaled = self._scaled(points)
        number, self.is_row = in_frames(scaled.to(torch.float32))
        self.place, self.size = places_in_frames(number, self.is_row, len(points)), len(number)
        self._own_lists: dict[str, list[tuple[int, Any, Any]]] = {}
        # three times the columns beside each other, where that is less work than three products
        self.copies = 3 if _power(3 * self.d) <= 3 * _power(self.d) - 16 else 1
        self.width = _power(self.copies * self.d)
        # frames, their centers and what rows are off them; rows that only fill up are none
        frames, kept = scaled[number].view(-1, FRAME, self.d), self.is_row.view(-1, FRAME, 1)
        self.low = torch.where(kept, frames, torch.inf).amin(dim=1)
        self.high = torch.where(kept, frames, -torch.inf).amax(dim=1)
        self.center = frames.median(dim=1).values.to(self.kind).contiguous()
        local = torch.where(kept, frames - self.center.to(torch.float64)[:, None], 0.0)
        self.is_wide = local.square().sum(dim=2).amax(dim=1) > WIDE
        self.local = local.view(self.size, self.d)
        self._boxes_reach = float((self.high.amax(dim=0) - self.low.amin(dim=0)).square().sum())

    def _scaled(self, points: Any) -> Any:
        """Coordinates in which kernel values are powers of two, in double precision."""
        return (points.to(torch.float64) - self.origin) * self.scale

    # Layouts, made when first needed

    @cached_property
    def _columns(self) -> tuple[Any, Any]:
        """Local coordinates (d, size) and what they leave out."""
        return _split(self.local.T.contiguous(), self.kind)

    @cached_property
    def _halves(self) -> tuple[Any, Any, Any, Any]:
        """Local coordinates (size, K) as halves, their rests, −‖y‖², and the centers (F, K)."""
        half, rest = _split(self.local, torch.float16)
        norm = torch.where(self.is_row, -self.local.square().sum(dim=1), -torch.inf)
        halves = self._padded([half, rest, half][: self.copies])
        center = self._padded([self.center] * self.copies)
        return halves, self._padded([rest]), norm.float(), center

    def _padded(self, parts: list[Any]) -> Any:
        """Arrays (m, d) beside each other in the layout of the products, (m, K)."""
        beside = torch.cat(parts, dim=1)
        return torch.nn.functional.pad(beside, (0, self.width - beside.shape[1])).contiguous()

    # Queries

    @cached_property
    def _own_blocks(self) -> _Blocks:
        frames = self.local.view(-1, FRAME, self.d) + self.center.to(torch.float64)[:, None]
        return self._blocks(frames.view(self.size, self.d), self.place)

    def _queries(self, points: Any) -> _Blocks:
        scaled = self._scaled(points)
        if self._boxes_reach <= CUTOFF or len(points) <= BLOCK:
            return self._blocks(scaled, torch.arange(len(points), device=self.device))
        number, is_row = in_frames(scaled.to(torch.float32), BLOCK)
        return self._blocks(scaled[number], places_in_frames(number, is_row, len(points)))

    def _blocks(self, coordinates: Any, place: Any) -> _Blocks:
        """Blocks of rows in the order given; the last row fills up the last block."""
        missing = -len(coordinates) % BLOCK
        if missing:
            coordinates = torch.cat([coordinates, coordinates[-1:].expand(missing, -1)])
        boxes = coordinates.view(-1, BLOCK, self.d)
        columns = _split(coordinates.T.contiguous(), self.kind)
        return _Blocks(place, len(coordinates), columns, boxes.amin(dim=1), boxes.amax(dim=1))

    def _near(
        self, queries: _Blocks, frames: Any, heaviest: tuple[Any, Any] | None = None
    ) -> Iterator[tuple[int, Any, Any]]:
        """Of groups of blocks: the first, where each one's list begins, and the lists.

        Frames are near that matter beside one; with `heaviest`, the highest two logarithms of
        weights in every frame, those that matter beside the nearest, for all shares.
        """
        number, of_all = (0, 1) if heaviest else self.share
        begin, end = (len(queries.low) * k // of_all for k in (number, number + 1))
        step = max(1, MOST_ENTRIES // max(1, len(frames)))
        for first in range(begin, end, step):
            blocks = slice(first, min(first + step, end))
            low, high = queries.low[blocks], queries.high[blocks]
            if heaviest is None:
                is_near = self._distances(low, high, frames, torch.float32) < CUTOFF
            else:
                best, second = heaviest  # the second is there even where a row itself is left out
                least = second - self._distances(low, high, frames, torch.float64, far=True)
                nearest = self._distances(low, high, frames, torch.float64)
                # and what rounding may hide
                margin = CUTOFF + 1e-12 * nearest.amin(dim=1, keepdim=True)
                is_near = best - nearest >= least.amax(dim=1, keepdim=True) - margin
            starts = torch.zeros(len(low) + 1, dtype=torch.int64, device=self.device)
            torch.cumsum(is_near.sum(dim=1), 0, out=starts[1:])
            yield first, starts, frames[torch.nonzero(is_near)[:, 1]].to(torch.int32)

    def _distances(self, low: Any, high: Any, frames: Any, kind: Any, far: bool = False) -> Any:
        """Of boxes to frames, as exponents: to the nearest place in them, or to the farthest."""
        distance = torch.zeros(len(low), len(frames), dtype=kind, device=self.device)
        for k in range(self.d):
            below = self.low[frames, k][None] - high[:, k, None]
            above = low[:, k, None] - self.high[frames, k][None]
            gap = torch.minimum(below, above) if far else torch.maximum(below, above)
            gap = (gap if far else gap.clamp(min=0)).to(kind)
            distance += gap.square() if self.is_square else gap.abs()
        return distance

    def _lists(self, queries: _Blocks, part: str) -> Iterable[tuple[int, Any, Any]]:
        """Lists of near frames, wide or not; those of the support itself are kept if few."""
        chosen = self._frames_of(part)
        if not len(chosen):
            return []
        is_own = queries is self.__dict__.get("_own_blocks")
        if not (is_own and len(queries.low) * len(chosen) <= MOST_ENTRIES):
            return self._near(queries, chosen)
        if part not in self._own_lists:
            self._own_lists[part] = list(self._near(queries, chosen))
        return self._own_lists[part]

    def _frames_of(self, part: str) -> Any:
        if part == "all":
            return torch.arange(len(self.low), device=self.device)
        return torch.nonzero(self.is_wide if part == "wide" else ~self.is_wide)[:, 0]

    # Products

    def product(self, A: Any, points: Any = None) -> Any:
        """K(points, support) @ A, (m, c), in double precision; None stands for the support."""
        queries = self._own_blocks if points is None else self._queries(points)
        out = torch.empty(len(queries.place), A.shape[1], dtype=torch.float64, device=self.device)
        width = 1 if self.kind == torch.float64 else COLUMN_GROUP
        with _on(self.device):
            for first in range(0, A.shape[1], width):
                group = slice(first, first + width)
                out[:, group] = self._group(queries, A[:, group])[queries.place]
        return out

    def _group(self, queries: _Blocks, A: Any) -> Any:
        """Sums of a few columns for all blocks of queries, (size, c)."""
        c = A.shape[1]
        n = 1 if c == 1 else max(16, _power(c))
        unit = A.abs().amax(dim=0).to(torch.float64)
        unit = torch.where(unit > 0, unit, 1.0)
        laid = torch.zeros(self.size, n, dtype=torch.float64, device=self.device)
        laid[self.place, :c] = A.to(torch.float64) / unit
        sums = torch.zeros(queries.size, n, dtype=torch.float64, device=self.device)
        if n == 1:
            weights = laid.to(self.kind), laid.to(self.kind)
            shift = 0.0
        else:  # as halves, times 2^15 like the kernel values
            weights = _split(laid * 2.0**SHIFT, torch.float16)
            unit, shift = unit * 2.0 ** (-2 * SHIFT), SHIFT
        fits = _power(self.d) <= WIDEST_PRODUCTS
        by_products = self.is_square and fits and (n > 1 or self.d > UNROLLED)
        for part in ("all",) if self.kind == torch.float64 else ("narrow", "wide"):
            for first, starts, near in self._lists(queries, part):
                rows = slice(first * BLOCK, None)
                x = [values[:, rows] for values in queries.columns]
                work = *weights, sums[rows], starts, near
                if by_products and part == "narrow":
                    self._by_products(x, work, shift)
                else:
                    self._by_differences(x, work, queries.size, shift, part == "wide")
        return sums[:, :c] * unit

    def _by_differences(
        self, x: list[Any], work: tuple[Any, ...], size: int, shift: float, is_double: bool
    ) -> None:
        """Add to the sums of some blocks of queries x; `work` are weights, sums and lists."""
        from softkern.operators.gpu.kernels import sums_by_differences

        _, _, sums, starts, _ = work
        n = sums.shape[1]
        bn = 16 if n > 1 or self.d == 3 else 32
        bm = 64 if n > 1 or self.kind == torch.float64 else BLOCK
        y = self._own_blocks.columns if is_double else self._columns
        sizes = {"D": self.d, "N": n, **_tiles(bm, bn)}
        kind = {"SQUARES": self.is_square, "DOUBLE": is_double}
        sums_by_differences[_programs(starts, bm)](
            *x, *y, self.center, *work, size, self.size, shift, **sizes, **kind, num_warps=4
        )

    def _by_products(self, x: list[Any], work: tuple[Any, ...], shift: float) -> None:
        """As `_by_differences`, by tensor cores."""
        from softkern.operators.gpu.kernels import sums_by_products

        _, _, sums, starts, _ = work
        x = [self._padded([part.T] * self.copies) for part in x]
        sizes = {"D": self.d, "K": self.width, "N": sums.shape[1], **_tiles(64, 64)}
        stages = 3 if self.width <= 64 else 2
        sums_by_products[_programs(starts, 64)](
            *x, *self._halves, *work, shift, **sizes, STACKED=self.copies > 1, num_warps=4,
            num_stages=stages,
        )  # fmt: skip

    def logs(self, points: Any, log_a: Any, own: Any = None, log_left: Any = None) -> Any:
        """log Σ_r k(x, x_r) a_r, (m,), however far; `log_left` is of a query's own row `own`."""
        from softkern.operators.gpu.kernels import log_sums

        queries = self._queries(points)
        laid = torch.full((self.size,), -torch.inf, dtype=torch.float64, device=self.device)
        laid[self.place] = log_a.to(torch.float64) * math.log2(math.e)
        itself = torch.full((queries.size,), -1, dtype=torch.int64, device=self.device)
        of_itself = torch.zeros(queries.size, dtype=torch.float64, device=self.device)
        if own is not None:
            itself[queries.place] = self.place[own]
            of_itself[queries.place] = log_left.to(torch.float64) * math.log2(math.e)
        out = torch.empty(queries.size, dtype=torch.float64, device=self.device)
        best = laid.view(-1, FRAME).topk(2, dim=1).values
        sizes = {"D": self.d, **_tiles(32, 64), "SQUARES": self.is_square}
        frames = self._frames_of("all")
        for first, starts, near in self._near(queries, frames, (best[:, 0], best[:, 1])):
            rows = slice(first * BLOCK, None)
            x = [values[:, rows] for values in queries.columns]
            weights = laid, itself[rows], of_itself[rows]
            work = out[rows], starts, near, queries.size, self.size
            with _on(self.device):
                log_sums[_programs(starts, 32)](
                    *x, *self._own_blocks.columns, *weights, *work, **sizes, num_warps=4
                )
        return out[queries.place] / math.log2(math.e)


class SplitPoints:
    """A support on several devices, each of which computes its share of the queries."""

    def __init__(self, kernel: Kernel, points: Any, precision: str, devices: list[Any]) -> None:
        self.parts = [
            FusedPoints(kernel, points.to(device), precision, (k, len(devices)))
            for k, device in enumerate(devices)
        ]

    def product(self, A: Any, points: Any = None) -> Any:
        """K(points, support) @ A, (m, c), where A is; None stands for the support."""
        shares = [
            part.product(A.to(part.device), None if points is None else points.to(part.device))
            for part in self.parts
        ]
        return sum(share.to(A.device) for share in shares)

    def logs(self, points: Any, log_a: Any, own: Any = None, log_left: Any = None) -> Any:
        """log Σ_r k(x, x_r) a_r, (m,), as `FusedPoints.logs`: few queries, for the first device."""
        return self.parts[0].logs(points, log_a, own, log_left)


def _programs(starts: Any, rows_each: int) -> tuple[int]:
    """How many programs there are for lists of near frames, of so many rows each."""
    return ((len(starts) - 1) * BLOCK // rows_each,)


def _tiles(bm: int, bn: int) -> dict[str, int]:
    """Sizes of a tile of kernel values, for a compiled loop."""
    return {"BM": bm, "BN": bn, "TILES": FRAME // bn, "BLOCK": BLOCK}


def _on(device: torch.device) -> AbstractContextManager[Any]:
    """Where loops are started: Triton takes the current device."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _split(values: Any, kind: Any) -> tuple[Any, Any]:
    """Numbers of double precision as one of fewer digits and one for what that leaves out."""
    whole = values.to(kind)
    return whole, (values - whole.to(torch.float64)).to(kind)


def _power(number: int) -> int:
    """The next power of two, at least 16, which is what tensor cores take."""
    return max(16, 1 << (number - 1).bit_length())
