"""Memory that this process may still use, by the limits of machine, container and process."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# The two versions of cgroups: files of the limit and of the usage, and the line of memory.stat
# that counts pages of files, which count as used and can be dropped
SECOND = ("memory.max", "memory.current", "inactive_file")
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that all limits leave, from ``proc`` and ``sys`` below `root`."""
    return int(max(0, min([_free(root), *_left_by_containers(root), address_space(root)])))


def address_space(root: Path = Path("/")) -> float:
    """Return the bytes of address space that ``ulimit -v`` leaves; infinite without a limit."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int((root / "proc/self/statm").read_text().split()[0])
    except (ImportError, AttributeError, OSError, ValueError):
        return math.inf
    used = pages * os.sysconf("SC_PAGE_SIZE")
    return math.inf if most == resource.RLIM_INFINITY else most - used


def _free(root: Path) -> int:
    """Bytes that are free, or all of the machine's where the system does not count them."""
    with suppress(OSError, StopIteration, ValueError):
        return _number_after("MemAvailable:", root / "proc/meminfo") * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 4 * 2**30  # unknown to the system: as in a small laptop


def _left_by_containers(root: Path) -> Iterator[int]:
    """Bytes that each cgroup leaves, from that of this process to the outermost."""
    top = root / "sys/fs/cgroup"
    places = [(top, "/", SECOND), (top / "memory", "/", FIRST)]
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
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
        most, usage = (int((folder / name).read_text()) for name in (limit, used))
        dropped = _number_after(f"{cached} ", folder / "memory.stat")
    except (OSError, ValueError, StopIteration):  # no such group, or no limit ("max")
        return
    yield most - usage + dropped


def _number_after(name: str, file: Path) -> int:
    lines = file.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))
