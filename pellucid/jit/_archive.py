"""Read TorchScript archives that PyTorch wrote: build their objects from the classes and code in
the archive.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pickle import UnpicklingError
from typing import Any

from .. import devices, serialization
from ..serialization._names import STORAGE_TYPES
from ..serialization._read import Archive, malformed, storages
from ..serialization._rebuild import rebuild_parameter, rebuild_tensor_v2
from ..serialization._restricted import SafeUnpickler
from ._code import ArchiveModule, CodeUnit, is_kind, new, restore
from ._files import DATA, EXTRA, MARK
from ._warnings import deprecated


def _with_type(value: Any, kind: Any) -> Any:
    return value


def _listed(values: Any) -> list[Any]:
    if type(values) is not list:
        raise UnpicklingError(f"a list of a TorchScript archive is made of a {type(values)}")
    return values


# All that such a pickle may name besides its own classes.
_KNOWN: dict[tuple[str, str], Any] = {
    **STORAGE_TYPES,
    ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor_v2,
    ("torch._utils", "_rebuild_parameter"): rebuild_parameter,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch", "device"): devices.device,
    ("torch.jit._pickle", "restore_type_tag"): _with_type,
    **{
        ("torch.jit._pickle", f"build_{kind}list"): _listed
        for kind in ("int", "double", "bool", "tensor")
    },
}


_MOST_CODE = 4 << 20  # the tree of a text takes some hundred times its bytes


class _Reader(SafeUnpickler):
    """The unpickler of `weights_only=True`, which also makes objects of the archive's classes."""

    def __init__(self, data: bytes, load: Any, unit: CodeUnit | None) -> None:
        super().__init__(io.BytesIO(data))
        self.loader, self._unit = load, unit

    def find_class(self, module: str, name: str) -> Any:
        known = _KNOWN.get((module, name))
        if known is not None:
            return known
        if self._unit is not None and module.split(".")[0] == "__torch__":
            return self._unit.find(f"{module}.{name}")
        raise UnpicklingError(f"a TorchScript archive with {module}.{name} is not supported")

    def load_reduce(self) -> None:
        function = self.stack[-2]
        if function is not _listed and function is not _with_type:
            super().load_reduce()
            return
        args = self._arguments()
        self.stack[-1] = function(*args)

    def load_newobj(self) -> None:
        cls = self.stack[-2]
        if not is_kind(cls):
            super().load_newobj()
            return
        if self._arguments() != ():
            raise UnpicklingError("an object of a TorchScript archive is made without arguments")
        self.stack[-1] = new(cls)

    def load_build(self) -> None:
        if is_kind(type(self.stack[-2])):
            state = self.stack.pop()
            restore(self.stack[-1], state)
        else:
            super().load_build()

    dispatch = type(SafeUnpickler.dispatch)(
        {
            **SafeUnpickler.dispatch,
            pickle.REDUCE[0]: load_reduce,
            pickle.NEWOBJ[0]: load_newobj,
            pickle.BUILD[0]: load_build,
        }
    )


def _read(archive: Archive, map_location: Any, extra_files: dict[str, Any] | None) -> ArchiveModule:
    """The module of an archive."""
    names = set(archive.zip.namelist())

    def text(name: str) -> str | None:
        if not archive.has(name):
            return None
        found = archive.read(name)
        if len(found) > _MOST_CODE:
            raise UnpicklingError(f"{name} of a TorchScript archive has {len(found)} bytes of code")
        return found.decode()

    constants = _Reader(
        archive.read("constants.pkl"), storages(archive, "constants", map_location), None
    ).load()
    unit = CodeUnit(text, list(constants))
    load = storages(archive, "data", map_location)
    module: ArchiveModule = _Reader(archive.read("data.pkl"), load, unit).load()
    wanted = {} if extra_files is None else extra_files
    for name in wanted:
        if f"{archive.prefix}/extra/{name}" in names:
            wanted[name] = archive.read(f"extra/{name}")
    return module


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """Read a module that `torch.jit.save` wrote, here or in PyTorch.

    A file written by Pellucid imports the module's class, so read such files only from sources you trust.
    A file written by PyTorch (TorchScript) contains its own code in a small subset of Python. This code is checked, can call
    only operators and its own functions, and runs on the operations here.

    Args:
        f: a path, or an object with `read`.
        map_location: the device for the tensors.
        _extra_files: a dictionary whose keys are names given to `save`; its values are replaced by what the file holds, as bytes.

    Raises:
        ValueError: there is no such file.
        NotImplementedError: the code uses something that is not supported.
        pickle.UnpicklingError, RuntimeError: the file is damaged.

    >>> import pellucid as torch
    >>> import io
    >>> file, note = io.BytesIO(), {"note.txt": ""}
    >>> torch.jit.save(torch.jit.script(torch.nn.ReLU()), file, _extra_files={"note.txt": "v1"})
    >>> _ = file.seek(0)
    >>> torch.jit.load(file, _extra_files=note)(torch.tensor([-1.0, 2.0])), note
    (tensor([0., 2.]), {'note.txt': b'v1'})
    """
    deprecated("load", "switch to `torch.export`")
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile:
        raise RuntimeError(
            "PytorchStreamReader failed reading zip archive: failed finding central directory"
        ) from None
    with archive:
        names = archive.namelist()
        if MARK not in names:
            with malformed():
                return _read(Archive(archive.fp, None, False), map_location, _extra_files)
        wanted = {} if _extra_files is None else _extra_files
        for name in wanted:
            if EXTRA + name in names:
                wanted[name] = archive.read(EXTRA + name)
        return serialization.load(
            io.BytesIO(archive.read(DATA)), map_location=map_location, weights_only=False
        )
