"""Models in files, without pickle; and files that are never half-written.

A model file is a zip in the form of skops, which holds arrays and names of types but no code to
run, and one more member, ``softkern.json``: the format's number, softkern's version, the
estimator's name, the caller's metadata, and a digest of these and of the other members. That
member is read and judged before anything else is touched. Types other than softkern's own and
those that skops trusts by itself are refused. The digest finds damage and careless edits; it is no
signature.

Called by users and by the command line; `replacing` also by whatever else writes a file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from softkern.exceptions import ModelFileError

__all__ = ["FORMAT", "ModelFileError", "inspect", "load", "replacing", "save"]

MOST_HEADER = 2**26  # bytes; a table of ten thousand columns has a hundredth of it
FORMAT = 1  # raised when a file of the new kind could not be read by an older softkern
HEADER = "softkern.json"
# Modules whose classes make up a fitted model. Only classes: a file may name no function to call.
HOMES = ("models", "kernels", "operators", "planning", "alpha_tree.tree")
# Beyond what skops trusts by itself: data, no code.
HARMLESS = {"numpy.dtype", "scipy.sparse._csr.csr_array"}
# What a file that was altered can make a reader raise.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ImportError,
    RecursionError,
)


def save(model: Any, path: str | os.PathLike[str], **metadata: Any) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Any of softkern's, or a scikit-learn pipeline that holds one.
    path : str or path
        By custom, a name that ends in ``.skops``. A file of that name is replaced at the end,
        in one step.
    **metadata
        Whatever should travel with the model and JSON can hold; `inspect` gives it back.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import softkern
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = softkern.OneClassPCM().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.skops"
    ...     softkern.save(model, file, unit="mm")
    ...     again = softkern.load(file)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    import skops.io

    header: dict[str, Any] = {
        "format": FORMAT,
        "softkern": version("softkern"),
        "estimator": type(model).__name__,
        "metadata": metadata,
    }
    try:
        header = json.loads(json.dumps(header, allow_nan=False))  # as it will be read
    except (TypeError, ValueError) as error:
        raise TypeError(f"metadata must be what JSON can hold: {error}.") from error
    with replacing(path) as temporary:
        with temporary.open("wb") as file:
            skops.io.dump(model, file, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        with zipfile.ZipFile(temporary, "a") as archive:
            header["digest"] = _digest(archive, header)
            archive.writestr(HEADER, json.dumps(header, indent=1))


def load(path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """The model of a file that `save` wrote.

    Loading runs no code of the file's. A file that holds types which are neither softkern's nor
    known to be harmless, that was altered, or that a newer softkern wrote, is refused.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str, default=()
        Types of your own that the model uses, such as ``"mypackage.my_kernel"``; the message of
        a refusal names them.

    Raises
    ------
    ModelFileError
        A ValueError.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import softkern
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.skops"
    ...     softkern.save(softkern.AlphaCutClustering(alpha=0.2), file)
    ...     softkern.load(file).alpha
    0.2
    """
    import skops.io

    header = inspect(path)
    with _damage_named(path):
        named = skops.io.get_untrusted_types(file=Path(path))
        unknown = sorted(name for name in named if name not in trusted and not _is_ours(name))
    if unknown:
        raise ModelFileError(
            f"{path} holds {_listed(unknown)}, which softkern does not know, and is not loaded. "
            "Where these are your own and you trust the file's maker, name them: "
            f"load(path, trusted={unknown[:3]!r})."
        )
    with _damage_named(path):
        model = skops.io.load(Path(path), trusted=list(named))
    if type(model).__name__ != header.get("estimator"):
        raise ModelFileError(f"{path} was altered: it holds no {header.get('estimator')}.")
    return model


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself, without loading the model.

    Returns
    -------
    header : dict
        ``format``, ``softkern`` (the version that wrote it), ``estimator`` and ``metadata``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import softkern
    >>> from softkern.files import inspect
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.skops"
    ...     softkern.save(softkern.OneClassPCM(), file, unit="mm")
    ...     inspect(file)["metadata"]
    {'unit': 'mm'}
    """
    with _damage_named(path), open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise ModelFileError(f"{path} is not a softkern model: it is no zip archive.")
        with zipfile.ZipFile(file) as archive:
            if HEADER not in archive.namelist():
                raise ModelFileError(
                    f"{path} is not a softkern model: it has no {HEADER}. softkern.save writes one."
                )
            if archive.getinfo(HEADER).file_size > MOST_HEADER:
                raise ModelFileError(f"{path} was altered: its {HEADER} is far too long.")
            header = json.loads(archive.read(HEADER))
            _require_memory(path, sum(info.file_size for info in archive.infolist()))
            if not isinstance(header, dict) or not isinstance(header.get("format"), int):
                raise ModelFileError(f"{path} was altered: its {HEADER} names no format.")
            found = header.pop("digest", None)
            digest = _digest(archive, header)
    if header["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has format {header['format']}, written by softkern "
            f"{header.get('softkern', '?')}; this softkern {version('softkern')} reads formats up "
            f"to {FORMAT}. Upgrade softkern."
        )
    if found != digest:
        raise ModelFileError(f"{path} was altered since softkern wrote it, and is not loaded.")
    return header


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write, which becomes `path` at the end, or is removed on any failure.

    The bytes are on the disk before the name is given (fsync, then rename). What is no plain
    file, such as ``/dev/stdout``, is written directly.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "numbers.txt"
    ...     with replacing(file) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['numbers.txt']
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        yield target
        return
    temporary = _beside(target)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """See to it that names given in a folder outlast a crash, where the system can."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(target: Path) -> Path:
    """A new empty file in the same folder, with the permissions that any new file gets."""
    while True:
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
        with suppress(FileExistsError):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return temporary


@contextmanager
def _damage_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say of whatever an altered file raises that the file was altered."""
    try:
        yield
    except ModelFileError:
        raise
    except DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(f"{path} is damaged or was altered: {reason}") from error


def _require_memory(path: str | os.PathLike[str], size: int) -> None:
    """Refuse a file that unpacks to more than there is; no member yields more than it declares."""
    from softkern.planning import available_memory

    if size > available_memory():
        raise MemoryError(f"{path} unpacks to {size / 2**30:.1f} GiB, more than is free.")


def _digest(archive: zipfile.ZipFile, header: dict[str, Any]) -> str:
    """A sum over the header and the other members' names, sizes and check sums."""
    members = [info for info in archive.infolist() if info.filename != HEADER]
    lines = sorted(f"{info.filename} {info.file_size} {info.CRC}" for info in members)
    lines.append(json.dumps(header, sort_keys=True))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _is_ours(name: str) -> bool:
    """Whether this is a class of softkern's that fitted models are made of, or harmless."""
    if name in HARMLESS:
        return True
    module, _, attribute = name.rpartition(".")
    if not any(f"{module}.".startswith(f"softkern.{home}.") for home in HOMES):
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__.startswith("softkern.")


def _listed(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
