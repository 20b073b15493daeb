"""`torch.utils`."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any as _Any

from ..api.attach import missing as _missing
from ..api.attach import suggest_names as _suggest_names
from ..api.sharing import swap_tensors as swap_tensors
from . import data as data

_LAZY = (
    "_contextlib",
    "_foreach_utils",
    "_python_dispatch",
    "_pytree",
    "_triton",
    "benchmark",
    "checkpoint",
    "collect_env",
    "cpp_extension",
    "deterministic",
    "dlpack",
    "hooks",
    "model_zoo",
    "tensorboard",
    "weak",
)


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    raise _missing("torch.utils", name, globals())


_suggest_names(__name__)
