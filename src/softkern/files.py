"""Models in files, without pickle; and files that are never half-written.

A model file is a ``safetensors`` container: the arrays of the model's declared state
(`softkern.models.state`), and in its header one JSON document with the format's number, softkern's
version, the estimator's name, the caller's metadata, the plain part of the state, a digest of the
arrays and one of the document itself. The document is read and judged before anything else is
touched, and no code of the file's is run. The digests find damage and careless edits; they are no
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
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from softkern._utils.memory import available_memory
from softkern.exceptions import ModelFileError

__all__ = ["FORMAT", "ModelFileError", "inspect", "load", "replacing", "save"]

MOST_HEADER = 2**26  # bytes; a table of ten thousand columns has a hundredth of it
FORMAT = 2  # raised when a file of the new kind could not be read by an older softkern
DOCUMENT = "softkern"  # its name in the container's header
ALTERED = "was altered since softkern wrote it, and is not loaded."
# What a file that was altered can make a reader raise.
DAMAGE = (
    SafetensorError,
    EOFError,
    ArithmeticError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)


def save(model: Any, path: str | os.PathLike[str], **metadata: Any) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Any of softkern's, or a scikit-learn pipeline that ends in one. A kernel that is a function
        must be importable by its name; a lambda is refused.
    path : str or path
        By custom, a name that ends in ``.safetensors``. A file of that name is replaced at the
        end, in one step.
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
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     softkern.save(model, file, unit="mm")
    ...     again = softkern.load(file)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    from safetensors.numpy import save as container

    from softkern.models.state import to_state

    try:
        metadata = json.loads(json.dumps(metadata, allow_nan=False))  # as it will be read
    except (TypeError, ValueError) as error:
        raise TypeError(f"metadata must be what JSON can hold: {error}.") from error
    # of a fit to Dask arrays, what is said of all rows stays where they are
    small = model.without_rows() if hasattr(model, "without_rows") else model
    arrays: dict[str, Any] = {}
    document = {
        "format": FORMAT,
        "softkern": version("softkern"),
        "estimator": type(model).__name__,
        "metadata": metadata,
        "state": _take(to_state(small), arrays, {}),
        "arrays": _digest_of_arrays(arrays),
    }
    text = json.dumps(document | {"digest": _digest(document)}, allow_nan=False)
    if len(text) > MOST_HEADER // 2:  # inside the container's own JSON, quotes take two bytes
        raise ValueError(
            f"metadata and plain values of the model take {len(text):,} characters, more than the "
            f"{MOST_HEADER // 2:,} that a model file can hold."
        )
    with replacing(path) as temporary:
        # not to a file by name: safetensors would put one of its own there, even for a device
        temporary.write_bytes(container(arrays, {DOCUMENT: text}))


def load(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """The model of a file that `save` wrote.

    Loading runs no code of the file's. A file that names functions or classes which are neither
    softkern's nor scikit-learn's estimators, that was altered, or that a newer softkern wrote, is
    refused.

    Parameters
    ----------
    path : str or path
    trusted : collection of str, default=()
        Functions and kernel classes of your own that the model uses, such as
        ``"mypackage.my_kernel"``; the message of a refusal names them.

    Raises
    ------
    ModelFileError
        A ValueError.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import softkern
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     softkern.save(softkern.AlphaCutClustering(alpha=0.2), file)
    ...     softkern.load(file).alpha
    0.2
    """
    from softkern.models.state import from_state

    with _refusals_named(path):
        document = _document(path)
        size = os.path.getsize(path)
        if size > available_memory():
            raise MemoryError(f"{path} holds {size / 2**30:.1f} GiB, more than is free.")
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if document["arrays"] != _digest_of_arrays(arrays):
            raise ModelFileError(ALTERED)
        return from_state(_put_back(document["state"], arrays), trusted=trusted)


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself; only its header is read.

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
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     softkern.save(softkern.OneClassPCM(), file, unit="mm")
    ...     inspect(file)["metadata"]
    {'unit': 'mm'}
    """
    with _refusals_named(path):
        document = _document(path)
        return {name: document[name] for name in ("format", "softkern", "estimator", "metadata")}


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
def _refusals_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in every refusal; whatever else an altered file raises is one."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error}") from error.__cause__
    except DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(f"{path} is damaged or was altered: {reason}") from error


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON document of a model file, checked."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for, a device never end
        raise ModelFileError("is no regular file, and only such are read.")
    with open(path, "rb") as file:
        start = file.read(8)
    if start.startswith(b"PK\x03\x04"):  # two bytes alone may be the length of a header
        raise ModelFileError(
            "has format 1, which softkern no longer reads. Fit the model again and save it with "
            "this version."
        )
    size = int.from_bytes(start, "little")
    if len(start) < 8 or size > os.path.getsize(path):
        raise ModelFileError("is not a softkern model: it is no safetensors file, or was cut off.")
    if size > MOST_HEADER:
        raise ModelFileError(f"has a header of {size:,} bytes, and {MOST_HEADER:,} are allowed.")
    with safe_open(path, framework="numpy") as container:
        text = (container.metadata() or {}).get(DOCUMENT)
    if text is None:
        raise ModelFileError("is not a softkern model, though a safetensors file.")
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise ModelFileError("was altered: its header names no format.")
    if document["format"] != FORMAT:
        raise ModelFileError(
            f"has format {document['format']}, written by softkern {document.get('softkern')}; "
            f"this softkern {version('softkern')} reads format {FORMAT}. Upgrade softkern."
        )
    if document.pop("digest", None) != _digest(document):
        raise ModelFileError(ALTERED)
    return document


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _digest_of_arrays(arrays: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _take(state: Any, arrays: dict[str, Any], names: dict[int, str], where: str = "state") -> Any:
    """The state with names in the place of arrays, which are put into `arrays`, each once."""
    if isinstance(state, list):
        return [_take(item, arrays, names, f"{where}/{i}") for i, item in enumerate(state)]
    if isinstance(state, dict):
        return {key: _take(item, arrays, names, f"{where}/{key}") for key, item in state.items()}
    if not hasattr(state, "dtype"):
        return state
    is_plain = state.dtype.kind in "biuf" and state.itemsize <= 8 and state.dtype.str[0] != ">"
    is_turned = state.flags.f_contiguous and not state.flags.c_contiguous
    if id(state) not in names:
        while where in arrays:  # of two keys that contain a slash
            where += "'"
        names[id(state)] = where
        arrays[where] = _contiguous(state.T if is_turned else state, is_plain)
    taken: dict[str, Any] = {"$": "array", "name": names[id(state)]}
    if not is_plain:
        shape = state.shape[::-1] if is_turned else state.shape
        taken |= {"dtype": state.dtype.str, "shape": list(shape)}
    return taken | {"order": "F"} if is_turned else taken


def _contiguous(array: Any, is_plain: bool) -> Any:
    """What safetensors takes: rows one after another, of a type that it has, or else bytes."""
    import numpy as np

    array = np.asarray(array, order="C")
    return array if is_plain else np.frombuffer(array.tobytes(), dtype=np.uint8)


def _put_back(state: Any, arrays: dict[str, Any]) -> Any:
    """The state with its arrays; one that was used twice is one array again."""
    if isinstance(state, list):
        return [_put_back(item, arrays) for item in state]
    if not isinstance(state, dict):
        return state
    if state.get("$") != "array":
        return {key: _put_back(item, arrays) for key, item in state.items()}
    array = arrays[state["name"]]
    if "dtype" in state:
        array = array.view(state["dtype"]).reshape(state["shape"])
    return array.T if state.get("order") == "F" else array
