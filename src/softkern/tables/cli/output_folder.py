"""Writes a folder of results as a whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from softkern.files import sync_folder
from softkern.tables.cli.errors import OutputError
from softkern.tables.cli.stopping import signals_deferred

# endings of formats that are not written
NOT_WRITTEN = (".parquet.gz", ".xls", ".xlsb", ".ods", ".json", ".npy", ".zip", ".bz2", ".xz")
HIDDEN = "softkern-{}.tmp"  # how names of hidden folders end
BEFORE = "before"  # subfolder of a hidden folder, for the files that are being replaced


@contextmanager
def results_folder(out: Path, names: Sequence[str], force: bool) -> Iterator[Path]:
    """Yield a hidden folder to write into, whose files are moved to `out` at the end.

    If `out` does not exist, the hidden folder is beside it and is renamed, in one step. If it does,
    the hidden folder is inside, since `out` may be a mount point, and its files are moved one
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
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        home, start = (out, ".") if out.is_dir() else (out.parent, f".{out.name[:100]}.")
        _remove_stale(home, start)
        with _hidden_folder(home, start) as hidden:
            yield hidden
            with signals_deferred():
                _publish(hidden, out, names, force)
    except BaseException:
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


@contextmanager
def _hidden_folder(home: Path, start: str) -> Iterator[Path]:
    """Yield a new hidden folder that is locked, and removed at the end if it is still there.

    Before it is locked, another run may consider it stale and remove it. Then a new one is
    created.
    """
    while True:
        hidden = home / (start + HIDDEN.format(secrets.token_hex(4)))
        try:
            hidden.mkdir()
            with _locked(hidden):
                if hidden.exists():
                    yield hidden
                    return
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


@contextmanager
def _locked(folder: Path, wait: bool = True) -> Iterator[bool]:
    """Lock a folder, and yield whether this was possible. Windows and some disks have no locks."""
    descriptor, is_locked = None, False
    try:
        with suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            is_locked = True
        yield is_locked
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _remove_stale(home: Path, start: str) -> None:
    """Remove hidden folders of killed runs: those that no process has locked."""
    for path in home.glob(glob.escape(start) + HIDDEN.format("[0-9a-f]" * 8)):
        # a folder with files that were being replaced may hold their only copy
        if path.is_dir() and not (path / BEFORE).exists():
            with _locked(path, wait=False) as is_stale:
                if is_stale:
                    shutil.rmtree(path, ignore_errors=True)


def _publish(hidden: Path, out: Path, names: Sequence[str], force: bool) -> None:
    """Move the files to `out`."""
    there = sorted(os.listdir(hidden))
    written = [name for name in there if name not in names] + [n for n in names if n in there]
    for name in written:
        with (hidden / name).open("rb+") as file:
            os.fsync(file.fileno())
    if not out.exists():
        try:
            os.rename(hidden, out)
        except OSError:
            if not out.exists():  # otherwise another run has just created it
                raise
        else:
            sync_folder(out.parent)
            return
    with _locked(out):  # otherwise files of two runs may be mixed
        for name in written:  # check again: another run may have written it meanwhile
            check_free(out / name, force)
        _exchange(hidden, out, written)
        sync_folder(out)
    shutil.rmtree(hidden)  # while signals wait


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
