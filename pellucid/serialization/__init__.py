"""Saving and loading in PyTorch's file format (`torch.save`, `torch.load`), in both directions."""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from ..devices import device
from ..errors import warn
from . import _read
from ._names import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from ._names import torch_module
from ._options import (
    OPTIONS,
    LoadEndianness,
    SourceChangeWarning,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from ._places import (
    default_restore_location,
    location_tag,
    normalize_storage_type,
    register_package,
)
from ._read import read_legacy, read_zip
from ._restricted import ALLOWED, OLD_NAMES, SAFE
from ._write import write_file, write_legacy, write_zip

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]

# what `load` takes for its `map_location`
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | Any | str | dict[str, str] | None
_UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. Re-running "
    "`torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution. Do it only if "
    "you got the file from a trusted source."
)


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write an object to a file that `load` and PyTorch read; tensors that share memory still do so
    after loading.

    If `f` is a path, a temporary file is written first and then renamed, so that a crash never
    leaves half a file.

    Args:
        f: a path, or an object with `write`.
        pickle_module: whose pickler takes other objects than tensors apart, such as cloudpickle.

    >>> import io, pellucid as torch
    >>> file = io.BytesIO()
    >>> torch.save({"w": torch.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'w': tensor([1., 1.])}
    """
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    name = (
        re.sub(r"[^\w.-]", "_", os.path.splitext(os.path.basename(os.fspath(f)))[0]) or "archive"
        if is_path
        else "archive"
    )

    def write(file: Any) -> None:
        if _use_new_zipfile_serialization:
            byteorder = not _disable_byteorder_record
            write_zip(obj, file, pickle_protocol, name, byteorder, pickle_module)
        else:
            write_legacy(obj, file, pickle_protocol, pickle_module)

    if is_path:
        write_file(os.fspath(f), write)
        return
    if isinstance(f, io.IOBase) or not _use_new_zipfile_serialization:
        write(f)
    else:  # an object of the user's, of which no more is asked than to write
        held = io.BytesIO()
        write(held)
        f.write(held.getvalue())
    f.flush()


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read an object that `save` or PyTorch wrote.

    Args:
        f: a path, or an object with `read` and `seek`.
        map_location: "cpu" or "meta", a device, a dict from saved locations to such, or a function
            (storage, location) -> storage.
        weights_only: build tensors and plain containers only and run no code of the file (the
            default, unless `pickle_module` is given).
        mmap: map the tensors' memory from the file instead of reading it.

    Raises:
        pickle.UnpicklingError: the file names something that is not allowed, or is damaged.
        RuntimeError: a truncated or damaged archive, or tensors on a device that does not exist.

    >>> import pellucid as torch
    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, file)
    >>> position = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.])}
    """
    if weights_only is None:
        weights_only = pickle_module is None
    elif weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    known = map_location is None or isinstance(map_location, (str, dict, device))
    if not known and not callable(map_location):
        raise TypeError(f"'{type(map_location).__name__}' object is not callable")
    options = dict(pickle_load_args)
    if weights_only and options:
        warn("pickle_load_args only works if `weights_only=False`.")
    options.setdefault("encoding", "utf-8")
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        with open(path, "rb") as file:
            return _load(file, path, map_location, weights_only, bool(mmap), options)
    for method in ("seek", "tell", "read"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file that is seekable. Please "
                "pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    return _load(f, None, map_location, weights_only, bool(mmap), options)


def _load(
    file: Any,
    path: str | None,
    map_location: Any,
    weights_only: bool,
    mmap: bool,
    options: dict[str, Any],
) -> Any:
    start = file.tell()
    first = file.read(4)
    file.seek(start)
    if isinstance(first, str) and first:
        if weights_only:
            raise AssertionError("Expected bytes, got str")
        raise TypeError("a bytes-like object is required, not 'str'")
    if not first and (not mmap or path is None):
        raise EOFError("" if weights_only else "Ran out of input")
    try:
        if first == b"PK\x03\x04":
            if mmap and path is None:
                raise ValueError("f must be a file path in order to use the mmap argument")
            whole = file if hasattr(file, "seekable") else _Readable(file)
            return read_zip(whole, path, map_location, weights_only, mmap, options)
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({path}, _use_new_zipfile_serialization=True), please torch.save your "
                "checkpoint with this option in order to use mmap."
            )
        if weights_only and path is not None and file.read(262)[257:] == b"ustar":
            raise RuntimeError(
                f"Cannot use ``weights_only=True`` with files saved in the legacy .tar format. {_UNSAFE}"
            )
        file.seek(start)
        return read_legacy(file, map_location, weights_only, options)
    except pickle.UnpicklingError as error:
        if not weights_only or type(error) is not pickle.UnpicklingError:
            raise
        raise pickle.UnpicklingError(_explained(str(error))) from None


class _Readable:
    """A file of the user's that has what PyTorch asks for and no more; what it can write into
    memory it does.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size is None or size < 0 or not hasattr(self._file, "readinto"):
            found: bytes = self._file.read(size)
            return found
        memory = bytearray(size)
        return bytes(memory[: self._file.readinto(memory)])


_MORE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)


def _explained(text: str) -> str:
    if "was not an allowed global by default." in text:
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you "
            f"trust the source of the checkpoint\033[0m. \n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` "
            f"please check the recommended steps in the following error message.\n\tWeightsUnpickler error: {text}{_MORE}"
        )
    return (
        f"Weights only load failed. {_UNSAFE}\nPlease file an issue with the following so that we can make "
        f"`weights_only=True` compatible with your use case: WeightsUnpickler error: {text}{_MORE}"
    )


# ---- what weights_only allows ----------------------------------------------------------------
def _named(entry: Any) -> tuple[str, Any]:
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(entry)}"
            )
        if type(entry[1]) is not str:
            raise TypeError(
                f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}"
            )
        return entry[1], entry[0]
    return f"{torch_module(entry) or entry.__module__}.{entry.__qualname__}", entry


def add_safe_globals(
    safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]],
) -> None:
    """Allow `torch.load(weights_only=True)` to build objects of these classes and to call these functions.

    Args:
        safe_globals: classes and functions. A pair of one and a text gives the name that the file uses for it.

    >>> import pellucid as torch
    >>> import collections, io
    >>> file = io.BytesIO()
    >>> torch.save(collections.ChainMap({"step": 3}), file)
    >>> torch.serialization.add_safe_globals([collections.ChainMap])
    >>> _ = file.seek(0)
    >>> torch.load(file)["step"]
    3
    >>> torch.serialization.clear_safe_globals()
    """
    for entry in safe_globals:
        name, value = _named(entry)
        SAFE[name] = value


def get_safe_globals() -> list[Any]:
    """Return the classes and functions that `add_safe_globals` allowed.

    >>> import pellucid as torch
    >>> import fractions
    >>> torch.serialization.add_safe_globals([fractions.Fraction])
    >>> torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> torch.serialization.clear_safe_globals()
    """
    return list(SAFE.values())


def clear_safe_globals() -> None:
    """Forget everything that `add_safe_globals` allowed.

    >>> import pellucid as torch
    >>> import fractions
    >>> torch.serialization.add_safe_globals([fractions.Fraction])
    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    SAFE.clear()


class safe_globals:  # noqa: N801 (PyTorch's name)
    """Context manager: `add_safe_globals` inside the block only.

    >>> import pellucid as torch
    >>> class Settings:
    ...     pass
    >>> with torch.serialization.safe_globals([Settings]):
    ...     print(Settings in torch.serialization.get_safe_globals())
    True
    """

    def __init__(self, safe_globals: list[Any]) -> None:
        self.entries = safe_globals
        self.before: dict[str, Any] = {}

    def __enter__(self) -> None:
        self.before = dict(SAFE)
        add_safe_globals(self.entries)

    def __exit__(self, *exc: object) -> None:
        SAFE.clear()
        SAFE.update(self.before)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The names in a file that `load(weights_only=True)` would refuse.

    >>> import pellucid as torch
    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, file)
    >>> position = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    []
    """
    opened = open(f, "rb") if isinstance(f, (str, os.PathLike)) else f  # noqa: SIM115 (closed below)
    try:
        data = _read.Archive(opened, None, False).read("data.pkl")
    finally:
        if opened is not f:
            opened.close()
    names = names_in(data)
    return sorted(
        f"{m}.{n}"
        for m, n in names
        if (m, n) not in ALLOWED and (m, n) not in OLD_NAMES and f"{m}.{n}" not in SAFE
    )


def names_in(data: bytes) -> set[tuple[str, ...]]:
    """The functions and classes in a pickle: their modules and names."""
    import pickletools

    names = set()
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            names.add(tuple(str(argument).split(" ", 1)))
    return names
