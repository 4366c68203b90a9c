"""A folder of results that appears whole, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from softkern.cli._errors import OutputError
from softkern.files import sync_folder

# Names that promise what CSV is not
NOT_WRITTEN = (".parquet.gz", ".xls", ".xlsb", ".ods", ".json", ".npy", ".zip", ".bz2", ".xz")

__all__ = ["check_file", "check_free", "results_folder"]


@contextmanager
def results_folder(out: Path, names: Sequence[str], force: bool) -> Iterator[Path]:
    """A temporary folder beside `out` to write into; its files come to `out` at the end.

    Where `out` does not exist, the folder itself is renamed, in one step. Where it does, files are
    moved in one by one, those of `names` in that order: the last of them is there only when all
    are. Other files of `out` are left alone. On any failure, Ctrl-C included, the temporary folder
    is removed and `out` is as it was.

    Raises an OutputError, before any work, where one of the names is there and `force` is not.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out names a folder.")
    for name in names:
        check_free(out / name, force)
    out = Path(os.path.realpath(out))  # beside where a link leads, on the same disk
    made = [parent for parent in out.parents if not parent.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = out.with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.mkdir()
        yield temporary
        for name in names:  # once more: another run may have written it in the meantime
            check_free(out / name, force)
        _publish(temporary, out, names)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


def check_file(path: Path, force: bool) -> None:
    """Refuse, before any work, a file that cannot be written or may not be replaced."""
    if path.name.endswith(NOT_WRITTEN):
        raise OutputError(f"{path}: what can be written is .csv, .tsv, .xlsx, .jsonl and .parquet.")
    check_free(path, force)
    if not path.absolute().parent.is_dir():
        raise OutputError(f"there is no folder {path.absolute().parent}.")


def check_free(path: Path, force: bool) -> None:
    """Refuse to replace a file that is there, unless that is wanted."""
    if path.exists() and not force and path.is_file():
        raise OutputError(f"{path} is there already; --force replaces it.")


def _publish(temporary: Path, out: Path, names: Sequence[str]) -> None:
    written = [name for name in names if (temporary / name).exists()]
    for name in written:
        with (temporary / name).open("rb+") as file:
            os.fsync(file.fileno())
    if not out.exists():
        os.rename(temporary, out)
        sync_folder(out.parent)
        return
    for name in written:
        os.replace(temporary / name, out / name)
    sync_folder(out)
    shutil.rmtree(temporary)
