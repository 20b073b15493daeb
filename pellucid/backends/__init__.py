"""The switches of vendor libraries (`torch.backends.cudnn.deterministic = True`).

`cudnn`, `cuda`, `mps`, `mkl`, `mkldnn`, `openmp` and others say that the library is not there, and
take the settings that scripts make for it. The array libraries that Pellucid computes with are in
`arrays`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_VENDORS = (
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
)

# How exact products of float32 shall be: a setting that is kept; they are exact.
fp32_precision = "none"


def __getattr__(name: str) -> Any:
    if name in _VENDORS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@contextmanager
def __allow_nonbracketed_mutation() -> Iterator[None]:  # noqa: N807 (PyTorch's name)
    """A block in which settings may be assigned; they may be everywhere."""
    yield
