"""A folder for the path of other processes: what is in it is found there as a distribution called
torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent
VERSION = "2.13.0+pellucid"
FILES = (
    "torch/__init__.py",
    *(f"torch-{VERSION}.dist-info/{name}" for name in ("METADATA", "INSTALLER", "WHEEL")),
)


@contextmanager
def as_torch_too() -> Iterator[None]:
    """Let `import torch` mean Pellucid in every Python process that is started meanwhile."""
    before = os.environ.get("PYTHONPATH")
    rest = [path for path in (before or "").split(os.pathsep) if path and path != str(FOLDER)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER), *rest])
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = before
