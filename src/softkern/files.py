"""Save and load models without pickle, and write files atomically.

A model file is a ``safetensors`` container: the arrays of the model's state
(`softkern.models.state`), and in its header one JSON document with the format number, softkern's
version, the estimator's name, the caller's metadata, the plain part of the state, a digest of the
arrays and a digest of the document itself. The document is checked before anything else is read,
and no code in the file is run. The digests detect damage and careless edits, but are no signature.
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

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file
from safetensors.numpy import save as to_container

from softkern._utils.memory import available_memory
from softkern.exceptions import ModelFileError

__all__ = ["FORMAT", "ModelFileError", "inspect", "load", "replacing", "save"]

MOST_HEADER = 2**26  # bytes; a model of ten thousand columns needs a hundredth of it
FORMAT = 2  # increased when older versions of softkern cannot read the new files
DOCUMENT = "softkern"  # name of the document in the header of the container
ALTERED = "was altered since softkern wrote it, and is not loaded."
# Errors that an altered file can cause
DAMAGE = (
    SafetensorError,
    ArithmeticError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)


def save(model: Any, path: str | os.PathLike[str], **metadata: Any) -> None:
    """Save a model to a file.

    The file is written completely or not at all.

    Parameters
    ----------
    model : estimator
        A model of softkern, or a scikit-learn pipeline that ends in one. A kernel that is a
        function must be importable by its name, not a lambda.
    path : str or path
        File to write, usually with the suffix ``.safetensors``. An existing file is replaced at
        the end, in one step.
    **metadata
        JSON values to save with the model. `inspect` returns them.

    Examples
    --------
    >>> import tempfile
    >>> import softkern
    >>> model = softkern.OneClassPCM().fit([[0.0], [1.0], [1.5], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     softkern.save(model, f"{folder}/model.safetensors", unit="mm")
    ...     again = softkern.load(f"{folder}/model.safetensors")
    >>> bool((again.predict([[2.0]]) == model.predict([[2.0]])).all())
    True
    """
    from softkern.models.state import to_state

    try:
        metadata = json.loads(json.dumps(metadata, allow_nan=False))  # as it is loaded again
    except (TypeError, ValueError) as error:
        raise TypeError(f"metadata must be JSON values: {error}.") from error
    arrays: dict[str, Any] = {}
    document = {
        "format": FORMAT,
        "softkern": version("softkern"),
        "estimator": type(model).__name__,
        "metadata": metadata,
        "state": _extract(to_state(model), arrays, {}),
        "arrays": _digest_of_arrays(arrays),
    }
    text = json.dumps(document | {"digest": _digest(document)}, allow_nan=False)
    if len(text) > MOST_HEADER // 2:  # quotes take two bytes inside the JSON of the container
        raise ValueError(
            f"metadata and plain values of the model take {len(text):,} characters, but a model "
            f"file can hold at most {MOST_HEADER // 2:,}."
        )
    with replacing(path) as temporary:
        # safetensors itself would replace the file, even a device
        temporary.write_bytes(to_container(arrays, {DOCUMENT: text}))


def load(path: str | os.PathLike[str], *, trusted: Collection[str] = ()) -> Any:
    """Load a model from a file that `save` wrote.

    Loading runs no code in the file. It raises an error if the file was altered, was written by a
    newer version of softkern, or uses functions or classes that are neither softkern's nor
    estimators of scikit-learn.

    Parameters
    ----------
    path : str or path
        File to load.
    trusted : collection of str, default=()
        Full names of your own functions and kernel classes that the model uses, such as
        ``"mypackage.my_kernel"``. The error message lists them.

    Returns
    -------
    model : estimator
        The model or pipeline.

    Raises
    ------
    ModelFileError
        If the file cannot be loaded (a ValueError).

    Examples
    --------
    >>> import tempfile
    >>> import softkern
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     softkern.save(softkern.OneClassPCM(eta_scale=2.0), f"{folder}/model.safetensors")
    ...     softkern.load(f"{folder}/model.safetensors")
    OneClassPCM(eta_scale=2.0)
    """
    from softkern.models.state import from_state

    with _naming_errors(path):
        document = _document(path)
        size = os.path.getsize(path)
        if size > available_memory():
            raise MemoryError(f"{path} holds {size / 2**30:.1f} GiB, more than the free memory.")
        arrays = load_file(path)
        if document["arrays"] != _digest_of_arrays(arrays):
            raise ModelFileError(ALTERED)
        return from_state(_insert(document["state"], arrays), trusted=trusted)


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a model file.

    Parameters
    ----------
    path : str or path
        File to inspect.

    Returns
    -------
    header : dict
        ``format``, ``softkern`` (the version that wrote the file), ``estimator`` and ``metadata``.

    Examples
    --------
    >>> import tempfile
    >>> import softkern
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     softkern.save(softkern.OneClassPCM(), f"{folder}/model.safetensors", unit="mm")
    ...     softkern.files.inspect(f"{folder}/model.safetensors")["metadata"]
    {'unit': 'mm'}
    """
    with _naming_errors(path):
        document = _document(path)
        return {name: document[name] for name in ("format", "softkern", "estimator", "metadata")}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically: yield a temporary file that replaces `path` at the end.

    The content is on the disk before the file is renamed (fsync, then rename). After an error the
    temporary file is removed. Anything but a regular file, such as ``/dev/stdout``, is written
    directly.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        yield target
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}.tmp")
    temporary.touch(exist_ok=False)  # with the permissions of any new file
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
    """Make new names in a folder survive a crash, where the system supports it."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not supported by some file systems
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _naming_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors that an altered file causes as a ModelFileError that names the file."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path} {error}") from error.__cause__
    except DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelFileError(f"{path} is damaged or was altered: {reason}") from error


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read and check the JSON document of a model file."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # reading a pipe or a device might never end
        raise ModelFileError("is not a regular file.")
    with open(path, "rb") as file:
        start = file.read(8)
    if start.startswith(b"PK\x03\x04"):  # two bytes alone may be the length of a header
        raise ModelFileError(
            "has format 1, which softkern can no longer read. Fit the model again and save it with "
            "this version."
        )
    size = int.from_bytes(start, "little")
    if len(start) < 8 or size > os.path.getsize(path):
        raise ModelFileError(
            "is not a softkern model: it is not a safetensors file, or is incomplete."
        )
    if size > MOST_HEADER:
        raise ModelFileError(
            f"has a header of {size:,} bytes, more than the allowed {MOST_HEADER:,}."
        )
    with safe_open(path, framework="numpy") as container:
        text = (container.metadata() or {}).get(DOCUMENT)
    if text is None:
        raise ModelFileError("is a safetensors file, but not a softkern model.")
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("format"), int):
        raise ModelFileError("was altered: its header has no format.")
    if document["format"] != FORMAT:
        raise ModelFileError(
            f"has format {document['format']}, written by softkern {document.get('softkern')}; "
            f"this softkern {version('softkern')} reads format {FORMAT}. Upgrade softkern."
        )
    # two spellings of a number can have the same value, and hence the same digest
    is_as_written = text == json.dumps(document)
    if document.pop("digest", None) != _digest(document) or not is_as_written:
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


def _extract(
    state: Any, arrays: dict[str, Any], names: dict[int, str], where: str = "state"
) -> Any:
    """Replace the arrays of a state by names, and put each into `arrays` once."""
    if isinstance(state, list):
        return [_extract(item, arrays, names, f"{where}/{i}") for i, item in enumerate(state)]
    if isinstance(state, dict):
        return {key: _extract(item, arrays, names, f"{where}/{key}") for key, item in state.items()}
    if not hasattr(state, "dtype"):
        return state
    array: Any = state
    reference: dict[str, Any] = {"$": "array"}
    if state.flags.f_contiguous and not state.flags.c_contiguous:
        reference["order"] = "F"
        array = state.T
    # safetensors supports few dtypes; the bytes of others are stored
    is_plain = state.dtype.kind in "biuf" and state.itemsize <= 8 and state.dtype.str[0] != ">"
    if not is_plain:
        reference |= {"dtype": state.dtype.str, "shape": list(array.shape)}
    if id(state) not in names:
        while where in arrays:  # keys may contain a slash
            where += "'"
        names[id(state)] = where
        array = np.asarray(array, order="C")
        arrays[where] = array if is_plain else np.frombuffer(array.tobytes(), np.uint8)
    return reference | {"name": names[id(state)]}


def _insert(state: Any, arrays: dict[str, Any]) -> Any:
    """Put the arrays back into a state. One that was used twice is one array again."""
    if isinstance(state, list):
        return [_insert(item, arrays) for item in state]
    if not isinstance(state, dict):
        return state
    if state.get("$") != "array":
        return {key: _insert(item, arrays) for key, item in state.items()}
    array = arrays[state["name"]]
    if "dtype" in state:
        array = array.view(state["dtype"]).reshape(state["shape"])
    return array.T if state.get("order") == "F" else array
