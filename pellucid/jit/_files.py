"""Files of scripted and traced modules."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

from .. import serialization
from ..errors import UnsupportedError
from ..serialization._write import write_file

_MARK, _DATA, _EXTRA = "pellucid_jit", "archive.pt", "extra/"


def write(m: Any, f: Any, extra: dict[str, Any] | None = None) -> None:
    """Write an object to a file that `load` reads: by its class's name, its attributes and its
    tensors.
    """
    data = io.BytesIO()
    serialization.save(m, data)

    def fill(file: Any) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_MARK, "1")
            archive.writestr(_DATA, data.getvalue())
            for name, content in (extra or {}).items():
                archive.writestr(_EXTRA + name, content)

    if isinstance(f, (str, os.PathLike)):
        write_file(os.fspath(f), fill)
    else:
        fill(f)


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """Read a module that `torch.jit.save` wrote. It imports the module's class, so read files only
    from those you trust.

    Raises:
        ValueError: no such file.
        NotImplementedError: the file is TorchScript, written by PyTorch.
    """
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
        if _MARK not in names:
            raise UnsupportedError(
                "torch.jit.load is not supported for TorchScript that PyTorch wrote: its code is not Python",
                hint="build the model in Python and load its state_dict; torch.load gives the archive's weights",
            )
        for name in _extra_files or {}:
            if _EXTRA + name in names:
                _extra_files[name] = archive.read(_EXTRA + name)  # type: ignore[index]
        return serialization.load(
            io.BytesIO(archive.read(_DATA)), map_location=map_location, weights_only=False
        )
