"""Products with tiles of kernel values, for kernels written against the array API."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch

from softkern.kernels import Kernel

TILE_BYTES = 2**28  # kernel values held at once
LEAST_TILE = 64  # rows of the smallest tile


class TiledPoints:
    """A support for any kernel that is written for arrays of any library.

    With `keeps_gram`, the kernel values between the points themselves are formed once.
    """

    def __init__(self, kernel: Kernel, points: Any, keeps_gram: bool = False) -> None:
        self.kernel, self.points, self.keeps_gram = kernel, points, keeps_gram
        self.tile_bytes = TILE_BYTES

    @cached_property
    def gram(self) -> Any:
        """K between the points, (n, n)."""
        return self._by_tiles(self.points, lambda rows: self._values(self.points[rows]))

    def product(self, A: Any, points: Any = None) -> Any:
        """K(points, support) @ A, (m, c); None stands for the support."""
        weights = A.to(self.points.dtype)
        if points is None and self.keeps_gram:
            return self.gram @ weights
        queries = self.points if points is None else points
        return self._by_tiles(queries, lambda rows: self._values(queries[rows]) @ weights)

    def logs(self, points: Any, log_a: Any, own: Any = None, log_left: Any = None) -> Any:
        """log Σ_r k(x, x_r) a_r, (m,), however far; `log_left` is of a query's own row `own`."""

        def of_rows(rows: slice) -> Any:
            logs = self.kernel.array_log_block(points[rows], self.points)
            assert logs is not None
            terms = logs.to(torch.float64)
            if own is None:
                return torch.logsumexp(terms + log_a, dim=1)
            at = torch.arange(len(terms), device=terms.device), own[rows]
            own_terms = terms[at] + log_left[rows]
            terms += log_a
            terms[at] = own_terms
            return torch.logsumexp(terms, dim=1)

        return self._by_tiles(points, of_rows)

    def _values(self, queries: Any) -> Any:
        return self.kernel.array_block(queries, self.points)

    def _by_tiles(self, queries: Any, of_rows: Callable[[slice], Any]) -> Any:
        """Apply a function to slices of the queries, halved if out of memory, and concatenate."""
        parts, start = [], 0
        while start < len(queries):
            step = max(1, self.tile_bytes // (len(self.points) * queries.element_size()))
            try:
                parts.append(of_rows(slice(start, start + step)))
            except torch.OutOfMemoryError:
                if step <= LEAST_TILE:
                    raise MemoryError(
                        f"tiles of {step} × {len(self.points):,} kernel values do not fit into "
                        f"the memory of {queries.device}; use fewer rows or another engine."
                    ) from None
                torch.cuda.empty_cache()
                self.tile_bytes //= 2
                continue
            start += step
        return torch.cat(parts) if parts else of_rows(slice(0))


def tensor(array: Any) -> Any:
    """An array as torch's, where it is; a copy of memory that must not be written to."""
    is_locked = isinstance(array, np.ndarray) and not array.flags.writeable
    return torch.as_tensor(array.copy() if is_locked else array)


def uploaded(parts: Iterator[Any], device: str) -> Iterator[Any]:
    """Arrays of the host on the device, each on its way while the one before is worked on."""
    if not device.startswith("cuda"):
        yield from (tensor(part).to(device) for part in parts)
        return
    beside = torch.cuda.Stream(device)
    present = torch.cuda.current_stream(device)

    def sent(part: Any) -> tuple[Any, Any]:
        with torch.cuda.stream(beside):
            there = tensor(part).pin_memory().to(device, non_blocking=True)
        return there, beside.record_event()

    on_its_way: tuple[Any, Any] | None = None
    for part in chain(parts, [None]):
        following = None if part is None else sent(part)
        if on_its_way is not None:
            there, arrival = on_its_way
            present.wait_event(arrival)
            there.record_stream(present)
            yield there
        on_its_way = following
