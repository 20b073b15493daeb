"""Save and load scripted and traced modules."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

from .. import serialization
from ..serialization._write import write_file

MARK, DATA, EXTRA = "pellucid_jit", "archive.pt", "extra/"


def write(m: Any, f: Any, extra: dict[str, Any] | None = None) -> None:
    """Write an object to a file that `load` reads: by its class's name, its attributes and its
    tensors.
    """
    data = io.BytesIO()
    serialization.save(m, data)

    def fill(file: Any) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(MARK, "1")
            archive.writestr(DATA, data.getvalue())
            for name, content in (extra or {}).items():
                archive.writestr(EXTRA + name, content)

    if isinstance(f, (str, os.PathLike)):
        write_file(os.fspath(f), fill)
    else:
        fill(f)
