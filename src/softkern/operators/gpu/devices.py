"""CUDA devices of this machine: availability, speed and free memory."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from functools import cache
from typing import Any

from softkern._utils.threads import is_forked

DRIVERS = ("libcuda.so.1", "libamdhip64.so", "nvcuda.dll")
MULTIPROCESSORS = 132  # of an H200, on which costs were measured
CPU_SLOWDOWN = 3000.0  # of device="cpu" on two cores, which exists for tests


def unavailable_reason(device: str | None = None, **options: Any) -> str | None:
    """Return what this machine lacks for the GPU engine, or None."""
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed (pip install 'softkern[gpu]')"
    is_cuda = device is None or device.startswith("cuda")
    if is_cuda and not _has_device():
        return "there is no CUDA device that PyTorch can use"
    import torch

    if is_cuda and is_forked() and torch.cuda._is_in_bad_fork():
        return "the process that this one is a fork of uses CUDA already; start it by spawn"
    if device is None:
        return None
    try:
        number = torch.device(device).index or 0
    except (RuntimeError, TypeError):
        return f"device={device!r} is not known to PyTorch; give 'cuda', 'cuda:0' or 'cpu'"
    count = torch.cuda.device_count()
    if is_cuda and number >= count:
        return f"device={device!r} is not there; the last is 'cuda:{count - 1}'"
    return None


def free_memory(device: str | None = None, **options: Any) -> int:
    """Bytes that are free on the device."""
    if device == "cpu":
        return sys.maxsize  # memory of the host, which has a limit of its own
    import torch

    return int(torch.cuda.mem_get_info(device or "cuda")[0])


def slowdown(device: str) -> float:
    """How many times longer a device takes than an H200; not timed, to be the same in every run."""
    if device == "cpu":
        return CPU_SLOWDOWN
    import torch

    return MULTIPROCESSORS / torch.cuda.get_device_properties(device).multi_processor_count


def devices(device: str) -> list[str]:
    """Devices that share large products: all of them, unless one is named."""
    if device != "cuda":
        return [device]
    import torch

    return [f"cuda:{k}" for k in range(torch.cuda.device_count())]


@cache
def _has_device() -> bool:
    """Whether PyTorch has a CUDA device; does not import it where the driver is missing."""
    if "torch" not in sys.modules and not any(map(_is_loaded, DRIVERS)):
        return False
    import torch

    return bool(torch.cuda.is_available())


def _is_loaded(driver: str) -> bool:
    try:
        ctypes.CDLL(driver)
    except OSError:
        return False
    return True
