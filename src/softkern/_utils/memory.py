"""How much memory this process may still take: of the machine, its containers, its own limits.

Called by whatever plans or refuses by size.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["address_space", "available_memory"]

# Of the two kinds of containers: files of the limit and of what is used, and the line of
# memory.stat that counts pages of files, which are counted as used and can be dropped
SECOND = ("memory.max", "memory.current", "inactive_file")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_memory(root: Path = Path("/")) -> int:
    """Bytes this process may still take: the least that anything leaves it.

    Parameters
    ----------
    root : path, default="/"
        Where the system's ``proc`` and ``sys`` are.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    free = [_meminfo(root) or _physical(), *_left_by_containers(root), *_left_by_limits(root)]
    return max(0, min(free))


def address_space() -> float:
    """Bytes of address space that ``ulimit -v`` leaves this process; infinite without a limit.

    Examples
    --------
    >>> address_space() > 0
    True
    """
    return min(_left_by_limits(Path("/")), default=math.inf)


def _meminfo(root: Path) -> int | None:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 * 2**30  # unknown to the system: what a small laptop has


def _left_by_containers(root: Path) -> Iterator[int]:
    """What is left of every limit on the way from this process' own group to the outermost."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    top = root / "sys/fs/cgroup"
    places = [(top, "/", SECOND), (top / "memory", "/", FIRST)]
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if not kinds:
            places.append((top, path, SECOND))
        elif "memory" in kinds.split(","):
            places.append((top / "memory", path, FIRST))
    for folder, path, files in places:
        inner = Path(path.lstrip("/"))
        for group in dict.fromkeys((inner, *inner.parents)):
            yield from _left_by_group(folder / group, *files)


def _left_by_group(folder: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    try:
        most, taken = (int((folder / name).read_text()) for name in (limit, used))
        lines = (folder / "memory.stat").read_text().splitlines()
        dropped = next(int(line.split()[1]) for line in lines if line.startswith(f"{cached} "))
    except (OSError, ValueError, StopIteration):  # no such group, or no limit ("max")
        return
    yield most - taken + dropped


def _left_by_limits(root: Path) -> Iterator[int]:
    """What is left of the address space that ``ulimit -v`` allows."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int((root / "proc/self/statm").read_text().split()[0])
    except (ImportError, AttributeError, OSError, ValueError):
        return
    if most != resource.RLIM_INFINITY:
        yield most - pages * os.sysconf("SC_PAGE_SIZE")
