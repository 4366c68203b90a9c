"""A folder of results that appears whole, or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from softkern.files import sync_folder
from softkern.tables.cli.errors import OutputError, received_signals

# Names that promise what CSV is not
NOT_WRITTEN = (".parquet.gz", ".xls", ".xlsb", ".ods", ".json", ".npy", ".zip", ".bz2", ".xz")
HIDDEN = "softkern-{}.tmp"  # how names of hidden folders end
BEFORE = "before"  # within it: files that new ones took the place of
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")

__all__ = ["check_file", "check_free", "results_folder"]


@contextmanager
def results_folder(out: Path, names: Sequence[str], force: bool) -> Iterator[Path]:
    """A hidden folder to write into; its files come to `out` at the end.

    Where `out` does not exist, the hidden folder is beside it and is renamed, in one step. Where it
    does, the hidden folder is inside, for `out` may be a disk of its own, and files are moved one
    by one, those of `names` in that order: the last of them is there only when all are. Other files
    of `out` are left alone. On any failure, Ctrl-C included, the hidden folder is removed and `out`
    is as it was. Hidden folders of programs that were killed are removed.

    Raises an OutputError, before any work, where one of the names is there and `force` is not.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out names a folder.")
    for name in names:
        check_free(out / name, force)
    out = Path(os.path.realpath(out))
    made = [parent for parent in out.parents if not parent.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    home, start = (out, ".") if out.is_dir() else (out.parent, f".{out.name[:100]}.")
    _remove_stale(home, start)
    hidden, lock = None, None
    try:
        hidden, lock = _make_hidden(home, start)
        yield hidden
        for number in received_signals[:1]:  # nothing is written by a run that was to stop
            signal.raise_signal(number)
        with _undisturbed():
            _publish(hidden, out, names, force)
    except BaseException:
        if hidden is not None:
            shutil.rmtree(hidden, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise
    finally:
        if lock is not None:
            os.close(lock)


def check_file(path: Path, force: bool) -> None:
    """Refuse, before any work, a file that cannot be written or may not be replaced."""
    if path.name.endswith(NOT_WRITTEN):
        raise OutputError(f"{path}: what can be written is .csv, .tsv, .xlsx, .jsonl and .parquet.")
    check_free(path, force)
    if not path.absolute().parent.is_dir():
        raise OutputError(f"there is no folder {path.absolute().parent}.")


def check_free(path: Path, force: bool) -> None:
    """Refuse to replace a file that is there, unless that is wanted; a folder never is."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder, and a file of that name is to be written.")
    if path.exists() and not force and path.is_file():
        raise OutputError(f"{path} is there already; --force replaces it.")


def _make_hidden(home: Path, start: str) -> tuple[Path, int | None]:
    """Create a hidden folder and lock it.

    Another run may take the folder for a stale one before it is locked, and remove it. Then a new
    one is made.
    """
    while True:
        hidden = home / (start + HIDDEN.format(secrets.token_hex(4)))
        hidden.mkdir()
        lock = _lock(hidden, waits=True)
        with suppress(FileNotFoundError):
            there = os.stat(hidden)
            if lock is None or os.path.samestat(os.fstat(lock), there):
                return hidden, lock
        if lock is not None:
            os.close(lock)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """The folder for one run at a time, lest files of two be mixed."""
    lock = _lock(out, waits=True) if out.is_dir() else None
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, waits: bool = False) -> int | None:
    """The folder, locked while it is open; None where another has it or the system cannot."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def _remove_stale(home: Path, start: str) -> None:
    """Remove what killed runs left: hidden folders that no process has locked."""
    ours = re.compile(re.escape(start) + re.escape(HIDDEN).replace(r"\{\}", "[0-9a-f]{8}"))
    for path in home.iterdir() if os.access(home, os.R_OK) else ():
        # one that has files which were there before may be their only copy
        if not ours.fullmatch(path.name) or not path.is_dir() or (path / BEFORE).exists():
            continue
        lock = _lock(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _publish(hidden: Path, out: Path, names: Sequence[str], force: bool) -> None:
    there = sorted(path.name for path in hidden.iterdir())
    written = [name for name in there if name not in names] + [n for n in names if n in there]
    for name in written:
        with (hidden / name).open("rb+") as file:
            os.fsync(file.fileno())
    if not out.exists():
        try:
            os.rename(hidden, out)
        except OSError:
            if not out.exists():  # else another run made it just now
                raise
        else:
            sync_folder(out.parent)
            return
    with _alone(out):
        for name in written:  # again: another run may have written it in the meantime
            check_free(out / name, force)
        _exchange(hidden, out, written)
        sync_folder(out)
    shutil.rmtree(hidden)


def _exchange(hidden: Path, out: Path, names: Sequence[str]) -> None:
    """Move files into `out`; where one cannot be, all are as they were.

    Those in the way go first, the last of them before all others: whoever looks in between, or
    after a loss of power, sees no whole result in place of two mixed ones.
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
def _undisturbed() -> Iterator[None]:
    """Signals to stop wait meanwhile: moving files takes milliseconds, and is done or undone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {}
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not None:
            before[number] = signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in waiting[:1]:
        signal.raise_signal(number)
