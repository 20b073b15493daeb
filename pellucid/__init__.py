"""Pellucid: PyTorch's API on an engine that you can see through.

>>> import pellucid as torch
>>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from . import dtypes as _dtypes
from ._version import __version__ as __version__
from .api import attach as _attach
from .core import modes as _modes
from .core.tensor import Tensor as Tensor

_attach.publish(globals(), "torch")

for _name, _dtype in _dtypes.BY_NAME.items():
    globals()[_name] = _dtype
for _name in (
    "Size", "channels_last", "channels_last_3d", "contiguous_format", "device", "dtype", "finfo", "get_default_dtype", "iinfo",
    "layout", "memory_format", "preserve_format", "promote_types", "can_cast", "set_default_dtype", "strided",
):  # fmt: skip
    globals()[_name] = getattr(_dtypes, _name)
for _name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled"):
    globals()[_name] = getattr(_modes, _name)

# Loaded when first used, so that `import pellucid` stays fast.
_LAZY = (
    "_dynamo", "_inductor", "_logging", "accelerator", "amp", "autograd", "backends", "check", "compiler", "cpu", "cuda", "data", "datasets", "debug",
    "distributed", "distributions", "export", "fft", "func", "functional", "hub", "interop", "jit", "linalg", "masked", "mps",
    "multiprocessing", "nested", "nn", "onnx", "optim", "overrides", "profiler", "quasirandom", "random", "scalar", "serialization", "signal",
    "sparse", "special", "storage", "testing", "torch_version", "types", "utils", "version", "xpu",
)  # fmt: skip

_LAZY_NAMES = {
    "autocast": "amp", "is_autocast_enabled": "amp.autocast_mode", "get_autocast_dtype": "amp.autocast_mode",
    "is_autocast_available": "amp.autocast_mode", "GradScaler": "amp",
    "compile": "compiler", "vmap": "func", "save": "serialization", "load": "serialization", "return_types": "ops",
    "__config__": "__config__",
    "explain": "debug", "DisableTorchFunctionSubclass": "overrides", "DisableTorchFunction": "overrides",
    "is_anomaly_enabled": "autograd.anomaly_mode", "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    **dict.fromkeys((
        "autocast_decrement_nesting", "autocast_increment_nesting", "is_autocast_cache_enabled", "set_autocast_cache_enabled",
        "set_autocast_dtype", "set_autocast_enabled", "get_autocast_gpu_dtype", "set_autocast_gpu_dtype",
    ), "amp.autocast_mode"),
    **{f"{verb}_autocast_{kind}_{what}": "amp.autocast_mode" for kind in ("cpu", "ipu", "xla")
       for verb, what in (("get", "dtype"), ("set", "dtype"), ("is", "enabled"), ("set", "enabled"))},
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        home = _importlib.import_module(f"{__name__}.{_LAZY_NAMES[name]}")
        globals()[name] = home if name == "__config__" else getattr(home, name)
        return globals()[name]
    if name in _LAZY:
        try:
            module = _importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
        else:
            globals()[name] = module
            _attach.suggest_names(module.__name__)
            return module
    raise _attach.missing("torch", name, globals())


_attach.LENT["compile"] = lambda *args, **kwargs: __getattr__("compile")(*args, **kwargs)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES})
