"""Pellucid: PyTorch's API on an engine that you can see through.

>>> import pellucid as torch
>>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4., 6.])
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import Any as _Any

from . import dtypes as _dtypes
from ._names import ASKED_BY_TOOLS as _ASKED_BY_TOOLS
from ._version import __version__ as __version__
from .api import attach as _attach
from .arrays import affine as _affine_arrays
from .arrays.sparse import array as _sparse_arrays
from .core import modes as _modes
from .core.display import words as _words
from .core.tensor import Tensor as Tensor
from .core.transforms import capturing as _capturing
from .errors import warn as _warn

_attach.publish(globals(), "torch")

for _name, _dtype in _dtypes.BY_NAME.items():
    globals()[_name] = _dtype
for _name in (
    "Size",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "device",
    "dtype",
    "finfo",
    "get_default_dtype",
    "iinfo",
    "layout",
    "memory_format",
    "preserve_format",
    "promote_types",
    "can_cast",
    "set_default_dtype",
    "strided",
):
    globals()[_name] = getattr(_dtypes, _name)
globals().update(_affine_arrays.SCHEMES)
qscheme = _affine_arrays.qscheme
for _name in (
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
):
    globals()[_name] = getattr(_modes, _name)

_HOME = __name__  # `__name__` may be "torch": see `interop.as_torch`

# Loaded when first used, so that `import pellucid` stays fast.
_LAZY = (
    "__future__",
    "_C",
    "_VF",
    "_custom_ops",
    "classes",
    "_dynamo",
    "_functorch",
    "_guards",
    "_higher_order_ops",
    "_inductor",
    "_jit_internal",
    "_logging",
    "_ops",
    "_prims_common",
    "_subclasses",
    "_tensor",
    "_tensor_str",
    "_utils",
    "_vmap_internals",
    "_weights_only_unpickler",
    "accelerator",
    "amp",
    "ao",
    "autograd",
    "backends",
    "check",
    "compiler",
    "cpu",
    "cuda",
    "data",
    "datasets",
    "debug",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "interop",
    "jit",
    "library",
    "linalg",
    "masked",
    "monitor",
    "mps",
    "mtia",
    "multiprocessing",
    "nested",
    "nn",
    "numa",
    "onnx",
    "optim",
    "overrides",
    "package",
    "profiler",
    "quantization",
    "quantized",
    "quasirandom",
    "random",
    "scalar",
    "serialization",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "torch_version",
    "types",
    "utils",
    "version",
    "xpu",
)

_LAZY_NAMES = {
    "_nested_compute_contiguous_strides_offsets": "nested._strided",
    "_nested_view_from_buffer": "nested._strided",
    "autocast": "amp",
    "is_autocast_enabled": "amp.autocast_mode",
    "get_autocast_dtype": "amp.autocast_mode",
    "is_autocast_available": "amp.autocast_mode",
    "GradScaler": "amp",
    "_amp_foreach_non_finite_check_and_unscale_": "amp.grad_scaler",
    "_amp_update_scale_": "amp.grad_scaler",
    "_int_mm": "aten.parts.matrices",
    "_has_compatible_shallow_copy_type": "api.sharing",
    "set_vital": "_checks",
    "compile": "compiler",
    "vmap": "func",
    "save": "serialization",
    "load": "serialization",
    "return_types": "ops",
    "__config__": "__config__",
    "Future": "futures",
    "ScriptModule": "jit",
    "ScriptFunction": "jit",
    **dict.fromkeys(
        (
            "PyTorchFileReader",
            "PyTorchFileWriter",
            "Block",
            "ClassType",
            "CompilationUnit",
            "DictType",
            "FloatType",
            "FunctionSchema",
            "Graph",
            "IntType",
            "JITException",
            "ListType",
            "Node",
            "NoneType",
            "OptionalType",
            "ScriptMethod",
            "ScriptObject",
            "StringType",
            "TensorType",
            "TupleType",
            "Type",
            "Value",
            "Argument",
            "parse_schema",
            "DeviceObjType",
        ),
        "_C",
    ),
    "lstm": "nn._recurrent",
    "gru": "nn._recurrent",
    "rnn_tanh": "nn._recurrent",
    "rnn_relu": "nn._recurrent",
    "Stream": "cpu._streams",
    "Event": "cpu._streams",
    **dict.fromkeys(
        (
            "_assert",
            "_assert_async",
            "_check",
            "_check_index",
            "_check_is_size",
            "_check_not_implemented",
            "_check_tensor_all",
            "_check_tensor_all_with",
            "_check_type",
            "_check_value",
            "_check_with",
            "_cast_Byte",
            "_cast_Char",
            "_cast_Double",
            "_cast_Float",
            "_cast_Half",
            "_cast_Int",
            "_cast_Long",
            "_cast_Short",
            "_shape_as_tensor",
        ),
        "_checks",
    ),
    "Tag": "aten.overload",
    "explain": "debug",
    "DisableTorchFunctionSubclass": "overrides",
    "DisableTorchFunction": "overrides",
    **dict.fromkeys(
        (
            "sparse_bsc_tensor",
            "sparse_bsr_tensor",
            "sparse_compressed_tensor",
            "sparse_coo_tensor",
            "sparse_csc_tensor",
            "sparse_csr_tensor",
            "hsmm",
            "hspmm",
            "saddmm",
            "smm",
            "sspaddmm",
            "resize_as_sparse_",
            "ccol_indices_copy",
            "col_indices_copy",
            "crow_indices_copy",
            "indices_copy",
            "row_indices_copy",
            "values_copy",
            "_convert_indices_from_coo_to_csr",
            "_convert_indices_from_csr_to_coo",
        ),
        "sparse",
    ),
    **dict.fromkeys(
        (
            "_empty_affine_quantized",
            "_empty_per_channel_affine_quantized",
            "_make_per_channel_quantized_tensor",
            "_make_per_tensor_quantized_tensor",
            "quantize_per_channel",
            "quantize_per_tensor",
            "quantize_per_tensor_dynamic",
        ),
        "quantized",
    ),
    "_tensor_classes": "api.settings",
    "_storage_classes": "api.settings",
    "_softmax_backward_data": "aten.computed",
    "_log_softmax_backward_data": "aten.computed",
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    **dict.fromkeys(
        (
            "autocast_decrement_nesting",
            "autocast_increment_nesting",
            "is_autocast_cache_enabled",
            "set_autocast_cache_enabled",
            "set_autocast_dtype",
            "set_autocast_enabled",
            "get_autocast_gpu_dtype",
            "set_autocast_gpu_dtype",
        ),
        "amp.autocast_mode",
    ),
    **{
        f"{verb}_autocast_{kind}_{what}": "amp.autocast_mode"
        for kind in ("cpu", "ipu", "xla")
        for verb, what in (
            ("get", "dtype"),
            ("set", "dtype"),
            ("is", "enabled"),
            ("set", "enabled"),
        )
    },
}


_MOVED = {  # questions that PyTorch asks elsewhere now
    "has_mps": "mps.is_built",
    "has_cuda": "cuda.is_built",
    "has_cudnn": "cudnn.is_available",
    "has_mkldnn": "mkldnn.is_available",
}


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        home = _importlib.import_module(f"{_HOME}.{_LAZY_NAMES[name]}")
        found = home if name == "__config__" else _attach.checks(name, getattr(home, name))
        globals()[name] = found
        return found
    if name == "load_ipython_extension":  # `%load_ext pellucid`
        return _importlib.import_module(f"{_HOME}.cli.notebook").load_ipython_extension
    if name == "__all__":
        shown = {n for n, value in globals().items() if not isinstance(value, type(_sys))} | set(
            _LAZY_NAMES
        )
        return sorted(n for n in shown if not n.startswith("_") and n != "annotations")
    if name in _MOVED:
        part, function = _MOVED[name].split(".")
        _warn(f"'{name}' is deprecated, please use 'torch.backends.{_MOVED[name]}()'")
        return getattr(getattr(__getattr__("backends"), part), function)()
    if name == "torch":  # PyTorch's package holds itself by that name
        return _sys.modules[_HOME]
    if name in _dtypes.NAMED_ONLY:
        return _dtypes.NAMED_ONLY[name]
    if name.startswith("_foreach_"):
        return getattr(_importlib.import_module(f"{_HOME}._foreach"), name)
    if name in _LAZY:
        try:
            module = _importlib.import_module(f"{_HOME}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{_HOME}.{name}":
                raise
        else:
            globals()[name] = module
            _attach.suggest_names(module.__name__)
            return module
    raise _attach.missing("torch", name, globals())


# `torch.ops` is the package that records the operations, and has the operators' namespaces besides.
_ops_package = _importlib.import_module(f"{_HOME}.ops")


def _operators(name: str) -> _Any:
    if name.startswith(_ASKED_BY_TOOLS):
        raise AttributeError(
            f"module {_ops_package.__name__!r} has no attribute {name!r}", name=name
        )
    space = getattr(__getattr__("_ops").ops, name)
    if name == "quantized" and "linear" not in vars(space):
        vars(space).update(_importlib.import_module(f"{_HOME}.quantized.registry").OPERATORS)
        vars(_ops_package)[name] = space  # found without asking next time
    return space


_ops_package.__getattr__ = _operators  # type: ignore[method-assign]

_sparse_arrays.LENT.append(lambda: globals().get("sparse") or __getattr__("sparse"))
_affine_arrays.LENT.append(lambda: globals().get("quantized") or __getattr__("quantized"))
_attach.LENT["nested"] = lambda: globals().get("nested") or __getattr__("nested")
_attach.LENT["ao.nn"] = lambda name: _importlib.import_module(f"{__name__}.ao.nn.{name}")
_attach.LENT["torchvision/_C"] = lambda: _importlib.import_module(f"{__name__}._torchvision")
_attach.LENT["torchvision/image"] = lambda: _importlib.import_module(
    f"{__name__}._torchvision.images"
)
_attach.LENT["sparse"] = lambda name: getattr(
    globals().get("sparse") or __getattr__("sparse"), name
)
_attach.LENT["foreach"] = lambda name: getattr(
    _importlib.import_module(f"{_HOME}._foreach"), name, None
)
_words.LENT.append(lambda: _importlib.import_module(f"{__name__}.aten.schema"))
_capturing.NAMED.append(lambda: _importlib.import_module(f"{__name__}.aten.overload").in_place())
_attach.LENT["operators"] = lambda: _importlib.import_module(f"{__name__}.aten.level")
_attach.LENT["recurrent"] = lambda name: _importlib.import_module(
    f"{__name__}.nn._recurrent"
).FUNCTIONS.get(name)
_attach.LENT["sharded"] = lambda name: _importlib.import_module(f"{__name__}.sharded.{name}")
_attach.LENT["compile"] = lambda *args, **kwargs: __getattr__("compile")(*args, **kwargs)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES})


if hasattr(_sys, "ps1"):  # an interactive session
    _importlib.import_module(f"{_HOME}.cli.notebook").begin()
