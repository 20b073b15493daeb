"""Names of PyTorch's C++ module that libraries and generated code use.

`torch._C._nn.gelu` is `torch.nn.functional.gelu`, and `torch._C._fft.fft_rfft` is `torch.fft.rfft`;
`pellucid.api.origins` maps names to functions. Queries give true answers, settings of missing
compilers are accepted and ignored, and classes of TorchScript graphs exist only for `isinstance`.
"""

from __future__ import annotations

import ctypes as _ctypes
import sys as _sys
from typing import Any

import numpy as np

from .. import dtypes as _dtypes
from ..__config__ import show as _show_config
from .._foreach import (
    _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype,
)
from ..api import overriding as _overriding
from ..aten import dispatch as _dispatch
from ..aten import overload as _overload
from ..aten.schema import Argument as Argument
from ..aten.schema import FunctionSchema as FunctionSchema
from ..aten.schema import aten as _schemas
from ..aten.schema import parse as _parse
from ..classes import ScriptObject as ScriptObject
from ..core import modes as _modes
from ..core.streams.generator import Generator as Generator
from ..core.tensor import Tensor as _Tensor
from ..errors import LinAlgError as _LinAlgError
from ..futures import Future as Future
from ..jit import is_tracing as _is_tracing
from ..jit._graph import Graph as Graph
from ..jit._graph import Node as Node
from ..jit._graph import Type as Type
from ..jit._graph import Value as Value
from ..jit._graph import tracing_state as _tracing_state
from ..jit._script import CompilationUnit as CompilationUnit
from ..jit._script import Error as JITException
from ..jit._script import RecursiveScriptModule as ScriptModule
from ..jit._script import ScriptFunction as ScriptFunction
from ..overrides import _len_torch_function_stack as _len_torch_function_stack
from ..overrides import has_torch_function as _has_torch_function
from ..overrides import has_torch_function_unary as _has_torch_function_unary
from ..overrides import has_torch_function_variadic as _has_torch_function_variadic
from ..serialization.records import PyTorchFileReader as PyTorchFileReader
from ..serialization.records import PyTorchFileWriter as PyTorchFileWriter
from ..storage import StorageBase as StorageBase
from . import _autograd as _autograd
from . import _distributed_c10d as _distributed_c10d
from . import _distributed_rpc as _distributed_rpc
from . import _fft as _fft
from . import _functions as _functions
from . import _functorch as _functorch
from . import _linalg as _linalg
from . import _nn as _nn
from . import _special as _special
from ._autograd import _current_autograd_node as _current_autograd_node
from ._autograd import _current_graph_task_id as _current_graph_task_id
from ._functorch import (
    _debug_only_are_vmap_fallback_warnings_enabled as _debug_only_are_vmap_fallback_warnings_enabled,
)
from ._functorch import _set_vmap_fallback_warning_enabled

_debug_only_display_vmap_fallback_warnings = _set_vmap_fallback_warning_enabled
DisableTorchFunction = _overriding.DisableTorchFunction
DisableTorchFunctionSubclass = _overriding.DisableTorchFunctionSubclass
_disabled_torch_function_impl = _overriding.disabled
_EnableTorchFunction = _overriding._EnableTorchFunction
_disabled_torch_dispatch_impl = _dispatch.disabled
parse_schema = _parse
_TensorBase = TensorBase = _Tensor
_TensorMeta = type(_Tensor)
device, dtype, layout, memory_format, Size = (
    _dtypes.device,
    _dtypes.dtype,
    _dtypes.layout,
    _dtypes.memory_format,
    _dtypes.Size,
)

_GLIBCXX_USE_CXX11_ABI = True
has_cuda = has_mps = has_xpu = has_mkldnn = _has_mkldnn = _has_cuda = _has_mps = _has_xpu = False


def _refused(self: Any, *args: Any, **kwargs: Any) -> None:
    raise NotImplementedError(
        f"torch._C.{type(self).__name__} is not supported: there are no graphs of TorchScript"
    )


def _identity(name: str) -> type:
    body = {
        "__init__": _refused,
        "__doc__": f"""A class from TorchScript. It exists for `isinstance` checks; nothing creates an instance.

    >>> import pellucid as torch
    >>> isinstance(torch.ones(2), torch._C.{name})
    False
    """,
        "__module__": __name__,
    }
    return type(name, (), body)


for _name in (
    "Block",
    "ClassType",
    "DictType",
    "FloatType",
    "IntType",
    "ListType",
    "NoneType",
    "OptionalType",
    "ScriptMethod",
    "StringType",
    "TensorType",
    "TupleType",
):
    globals()[_name] = _identity(_name)


class _ExcludeDispatchKeyGuard:
    """A block in which some of PyTorch's dispatch keys do not count; autocast's is the one that
    does something here.
    """

    def __init__(self, keys: Any) -> None:
        self.keys = keys

    def __enter__(self) -> None:
        from ..amp.autocast_mode import autocast

        self._off = autocast("cpu", enabled=False)
        self._off.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._off.__exit__(*exc)


class _AutoDispatchBelowAutograd:
    """A block in which operators run below what is registered for their gradients."""

    def __enter__(self) -> None:
        self._before, _overload.below.autograd = _overload.below.autograd, True

    def __exit__(self, *exc: Any) -> None:
        _overload.below.autograd = self._before


class DispatchKey:
    """PyTorch's kinds of kernels, by name."""

    AutocastCPU, AutocastCUDA, AutocastXPU, AutocastMPS = (
        "AutocastCPU",
        "AutocastCUDA",
        "AutocastXPU",
        "AutocastMPS",
    )
    CPU, CUDA, Meta, Autograd, AutogradCPU = "CPU", "CUDA", "Meta", "Autograd", "AutogradCPU"
    CompositeImplicitAutograd, CompositeExplicitAutograd = (
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
    )
    Python, Undefined, FuncTorchBatched = "Python", "Undefined", "FuncTorchBatched"


class DispatchKeySet:
    """Some of PyTorch's kinds of kernels."""

    def __init__(self, *keys: Any) -> None:
        self.keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    def has(self, key: Any) -> bool:
        """Whether a key is in it."""
        return key in self.keys


# ---- questions ---------------------------------------------------------------------------------
def _log_api_usage_once(event: str) -> None:
    """Do nothing: nobody is told what is used."""


def _get_tracing_state(x: Any = None) -> Any:
    """What `torch.jit.trace` keeps while it runs; None outside of it."""
    return _tracing_state() or (True if _is_tracing() else None)


def _set_tracing_state(state: Any) -> None:
    """Nothing: what a trace records follows the calls."""


def _is_tracing_state() -> bool:
    return _is_tracing()


def _get_default_device() -> str:
    """The device of new tensors, by name."""
    return str(_modes.local.device if _modes.local.device is not None else "cpu")


def _get_accelerator(check: Any = None) -> Any:
    """The kind of accelerator of this machine: the CPU, where there is none."""
    return _dtypes.device("cpu")


def _get_privateuse1_backend_name() -> str:
    """The name of a device that a program has added: none has."""
    return "privateuseone"


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode of `torch.overrides` is entered."""
    return bool(_overriding.local.function_modes)


def _get_function_stack_at(idx: int) -> Any:
    """A mode that is entered, the outermost first."""
    return _overriding.local.function_modes[idx]


def _push_on_torch_function_stack(mode: Any) -> None:
    """Enter a mode."""
    _overriding.enter_mode(mode)


def _pop_torch_function_stack() -> Any:
    """Leave the innermost mode, and return it.

    Raises:
        RuntimeError: there is none.
    """
    if not _overriding.local.function_modes:
        raise RuntimeError("Empty stack")
    mode = _overriding.local.function_modes[-1]
    _overriding.exit_mode(mode)
    return mode


def _is_torch_function_enabled() -> bool:
    """Whether types' `__torch_function__` is called."""
    return not (_overriding.local.function_off or _overriding.local.function_all_off)


def _is_torch_function_all_disabled() -> bool:
    """Whether no `__torch_function__` is called, of types or of modes."""
    return bool(_overriding.local.function_all_off)


def _are_functorch_transforms_active() -> bool:
    """Whether this runs inside of `vmap`, `grad` or another function transform."""
    return _functorch._active()


def _is_alias_of(a: _Tensor, b: _Tensor) -> bool:
    """Whether two tensors share memory."""
    return bool(np.may_share_memory(a._array, b._array))


def _storage_Use_Count(cdata: int) -> int:  # noqa: N802 (PyTorch's name)
    """How many tensors and storages are on the memory of the storage with this `_cdata`."""
    owner = _ctypes.cast(cdata, _ctypes.py_object).value
    return _sys.getrefcount(owner) - 2  # `owner` and the argument


def _cuda_isInBadFork() -> bool:  # noqa: N802 (PyTorch's name)
    return False


def _cuda_clearCublasWorkspaces() -> None:  # noqa: N802 (PyTorch's name)
    """Nothing: there is no device."""


def _set_math_sdp_allow_fp16_bf16_reduction(allow: bool) -> None:
    """Nothing: products of half precision are summed in float32."""


# ---- switches of TorchScript's executor: kept, and without effect --------------------------------
_SWITCHES: dict[str, Any] = {}


def _switch(setter: str, default: bool) -> Any:
    def put(value: Any = None) -> Any:
        before = _SWITCHES.get(setter, default)
        if value is not None:
            _SWITCHES[setter] = value
        return before

    put.__name__ = put.__qualname__ = setter
    put.__doc__ = (
        "Keep a setting of TorchScript's executor, which is not here; returns the one before."
    )
    return put


for _name in (
    "_jit_override_can_fuse_on_cpu",
    "_jit_override_can_fuse_on_gpu",
    "_jit_set_nvfuser_enabled",
    "_jit_set_nvfuser_guard_mode",
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_texpr_fuser_enabled",
    "_jit_set_num_profiled_runs",
    "_jit_set_bailout_depth",
    "_set_graph_executor_optimize",
    "_jit_set_te_must_use_llvm_cpu",
    "_jit_set_llga_enabled",
    "_debug_set_autodiff_subgraph_inlining",
    "_jit_set_autocast_mode",
):
    globals()[_name] = _switch(_name, default=True)


def _jit_can_fuse_on_cpu() -> bool:
    return False


def _jit_can_fuse_on_gpu() -> bool:
    return False


def _jit_texpr_fuser_enabled() -> bool:
    return False


def _get_graph_executor_optimize() -> bool:
    return bool(_SWITCHES.get("_set_graph_executor_optimize", True))


def _jit_clear_class_registry() -> None:
    """Nothing: no classes are compiled."""


# ---- operators ---------------------------------------------------------------------------------
def _len_torch_dispatch_stack() -> int:
    """How many modes that handle operators are active in this thread."""
    return len(_dispatch.thread.modes)


def _dispatch_get_all_op_names() -> list[str]:
    """The full names of all operators."""
    spaces: dict[str, Any] = {
        "aten": _schemas(),
        **{name: table for name, table in _overload.DEFINED.items() if name != "aten"},
    }
    return [
        f"{space}::{name}" + (f".{overload}" if overload != "default" else "")
        for space, table in spaces.items()
        for name, known in table.items()
        for overload, (about, _) in known.items()
        if "j" not in about
    ]


def _dispatch_has_kernel(name: str) -> bool:
    """Whether there is an operator of that name."""
    try:
        _overload.overload_of(name)
    except AttributeError:
        return False
    return True


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether there is something that computes an operator for a dispatch key."""
    return _overload.overload_of(name).has_kernel_for_dispatch_key(key)


def _get_schema(name: str, overload: str) -> FunctionSchema:
    """The schema of an operator: of `aten::add` and `Tensor`."""
    return _overload.overload_of(f"{name}.{overload}" if overload else name)._schema


def _jit_get_all_schemas() -> list[FunctionSchema]:
    """The schemas of all operators of aten."""
    return [_parse(f"aten::{text}") for known in _schemas().values() for _, text in known.values()]


# ---- devices that are not here -----------------------------------------------------------------
class DeviceObjType:
    """A class from TorchScript, for annotations; nothing creates an instance.

    >>> import pellucid as torch
    >>> isinstance(torch.device("cpu"), torch.DeviceObjType)
    False
    """


def _get_cudnn_enabled() -> bool:
    """The setting `torch.backends.cudnn.enabled`."""
    from ..backends import cudnn

    return bool(cudnn.enabled)


def _mps_is_available() -> bool:
    """False."""
    return False


class _DisableTorchDispatch:
    """A block in which no mode and no type handles operators."""

    def __enter__(self) -> None:
        self._kept, _dispatch.thread.modes = _dispatch.thread.modes, ()

    def __exit__(self, *exc: Any) -> None:
        _dispatch.thread.modes = self._kept


def _dispatch_dump(name: str) -> str:
    """The name and schema of an operator, in the first lines of what PyTorch tells."""
    return f"name: {name}\nschema: {_overload.overload_of(name)._schema}\n"


def _functions_of_tensors() -> type:
    """The class whose static methods are the functions of `torch` that are operators."""
    library: Any = _sys.modules[__name__.partition(".")[0]]
    functions = {
        name: staticmethod(function)
        for name, function in vars(library).items()
        if callable(function)
        and not isinstance(function, type)
        and hasattr(_overload.ops.aten, name)
    }
    return type("_VariableFunctionsClass", (), {"__module__": "torch._C", **functions})


def __getattr__(name: str) -> Any:
    if name not in ("_VariableFunctions", "_VariableFunctionsClass"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # once all functions are there
    globals()["_VariableFunctionsClass"] = kind = _functions_of_tensors()
    globals()["_VariableFunctions"] = kind()
    return globals()[name]
