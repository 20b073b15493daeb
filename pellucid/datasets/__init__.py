"""Datasets from local files, one small dataset that comes with the package, and image transforms.
Nothing is downloaded.
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from ._digits import load_digits

# Loaded when first used: these need tensors and layers, `load_digits` needs NumPy alone.
_HOMES = dict.fromkeys(
    (
        "CSVDataset",
        "Characters",
        "Digits",
        "FashionMNIST",
        "ImageSet",
        "KMNIST",
        "MNIST",
        "NPZDataset",
        "TextLines",
    ),
    "_sets",
) | dict.fromkeys(("DataFileError", "DataFileNotFoundError", "read_idx"), "_read")

__all__ = ["load_digits", "transforms", *_HOMES]


def __getattr__(name: str) -> _Any:
    if name == "transforms":
        return _importlib.import_module(f"{__name__}.transforms")
    if name in _HOMES:
        return getattr(_importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
