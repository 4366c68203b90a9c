"""Writes a folder of results as a whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from softkern.files import sync_folder
from softkern.tables.cli.errors import OutputError, received_signals

__all__ = ["check_file", "check_free", "results_folder"]

# endings of formats that are not written
NOT_WRITTEN = (".parquet.gz", ".xls", ".xlsb", ".ods", ".json", ".npy", ".zip", ".bz2", ".xz")
HIDDEN = "softkern-{}.tmp"  # how names of hidden folders end
BEFORE = "before"  # subfolder of a hidden folder, for the files that are being replaced
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def results_folder(out: Path, names: Sequence[str], force: bool) -> Iterator[Path]:
    """Yield a hidden folder to write into, whose files are moved to `out` at the end.

    If `out` does not exist, the hidden folder is beside it and is renamed, in one step. If it does,
    the hidden folder is inside, since `out` may be a disk of its own, and its files are moved one
    by one, those in `names` last and in that order: the last exists only if all do. Other files of
    `out` are left alone. On any failure, including Ctrl-C, the hidden folder is removed and `out`
    stays as it was. Hidden folders of killed programs are removed.

    Raises an OutputError, before any work, if one of the names exists and `force` is False.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out names a folder.")
    for name in names:
        check_free(out / name, force)
    out = Path(os.path.realpath(out))
    missing_parents = [parent for parent in out.parents if not parent.exists()]
    with ExitStack() as stack:
        hidden = None
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            home, start = (out, ".") if out.is_dir() else (out.parent, f".{out.name[:100]}.")
            _remove_stale(home, start)
            hidden = _make_hidden(home, start, stack)
            yield hidden
            for number in received_signals[:1]:
                signal.raise_signal(number)
            with _signals_deferred():
                _publish(hidden, out, names, force)
        except BaseException:
            if hidden is not None:
                shutil.rmtree(hidden, ignore_errors=True)
            for parent in missing_parents:
                with suppress(OSError):
                    parent.rmdir()
            raise


def check_file(path: Path, force: bool) -> None:
    """Raise an error, before any work, for a file that cannot be written or replaced."""
    if path.name.endswith(NOT_WRITTEN):
        raise OutputError(f"{path}: supported are .csv, .tsv, .xlsx, .jsonl and .parquet.")
    check_free(path, force)
    if not path.absolute().parent.is_dir():
        raise OutputError(f"there is no folder {path.absolute().parent}.")


def check_free(path: Path, force: bool) -> None:
    """Raise an error if a folder exists in the place of a file, or a file without `force`."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder; a file of that name is to be written.")
    if path.exists() and not force and path.is_file():
        raise OutputError(f"{path} is there already; --force replaces it.")


def _make_hidden(home: Path, start: str, stack: ExitStack) -> Path:
    """Create a hidden folder that is locked until the stack is closed.

    Another run may take the folder for a stale one before it is locked, and remove it. Then a new
    one is made.
    """
    while True:
        hidden = home / (start + HIDDEN.format(secrets.token_hex(4)))
        hidden.mkdir()
        lock = _lock(hidden, wait=True)
        with suppress(FileNotFoundError):
            there = os.stat(hidden)
            if lock is None or os.path.samestat(os.fstat(lock), there):
                if lock is not None:
                    stack.callback(os.close, lock)
                return hidden
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, wait: bool) -> int | None:
    """Return a descriptor that locks a folder, or None if another has it or locks do not exist."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def _remove_stale(home: Path, start: str) -> None:
    """Remove hidden folders of killed runs: those that no process has locked."""
    pattern = re.compile(re.escape(start) + re.escape(HIDDEN).replace(r"\{\}", "[0-9a-f]{8}"))
    for path in home.iterdir() if os.access(home, os.R_OK) else ():
        # a folder with files that were being replaced may hold their only copy
        if not pattern.fullmatch(path.name) or not path.is_dir() or (path / BEFORE).exists():
            continue
        lock = _lock(path, wait=False)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _publish(hidden: Path, out: Path, names: Sequence[str], force: bool) -> None:
    """Move the files to `out`."""
    there = sorted(path.name for path in hidden.iterdir())
    written = [name for name in there if name not in names] + [n for n in names if n in there]
    for name in written:
        with (hidden / name).open("rb+") as file:
            os.fsync(file.fileno())
    if not out.exists():
        try:
            os.rename(hidden, out)
        except OSError:
            if not out.exists():  # otherwise another run has just made it
                raise
        else:
            sync_folder(out.parent)
            return
    lock = _lock(out, wait=True)  # or files of two runs may be mixed
    try:
        for name in written:  # again: another run may have written it in the meantime
            check_free(out / name, force)
        _exchange(hidden, out, written)
        sync_folder(out)
    finally:
        if lock is not None:
            os.close(lock)
    shutil.rmtree(hidden)


def _exchange(hidden: Path, out: Path, names: Sequence[str]) -> None:
    """Move files into `out`. If one cannot be moved, undo all moves.

    Old files are removed first, the last of them before all others, so that a reader never sees a
    complete set of files from two runs, even after a loss of power.
    """
    before = hidden / BEFORE
    before.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for name in reversed(names):
            if (out / name).is_file() or (out / name).is_symlink():
                os.rename(out / name, before / name)
                moved.append((out / name, before / name))
        for name in names:
            os.rename(hidden / name, out / name)
            moved.append((hidden / name, out / name))
    except BaseException:
        for start, end in reversed(moved):
            os.rename(end, start)
        before.rmdir()
        raise


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Deliver signals to stop only after the moves, which take milliseconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    handlers = {}
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not None:
            handlers[number] = signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in waiting[:1]:
        signal.raise_signal(number)
