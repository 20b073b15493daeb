"""Global settings under PyTorch's names: threads, determinism, precision, default dtypes."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..core import tracing
from ..core.modes import state
from ..core.public import FUNCTIONS, public
from ..core.tensor import Tensor
from ..errors import (
    ArgumentTypeError,
    MissingAttributeError,
    OperationError,
    type_name,
    warn,
    warn_once,
)
from ..ops._rules import require_tensor
from ..ops.shape.storage import StorageBase, TypedStorage, UntypedStorage
from .create.by_name import TYPE_NAMES, no_cuda_type
from .create.legacy import made as _made

_NAMES: dict[str, Any] = {
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "e": math.e,
    "newaxis": None,
}
_NAMES |= {
    "StorageBase": StorageBase,
    "TypedStorage": TypedStorage,
    "UntypedStorage": UntypedStorage,
}


# What the process was told; compiled code depends on it.
SETTINGS: dict[str, Any] = {
    "deterministic": False,
    "fill_uninitialized_memory": True,
    "warn_only": False,
    "precision": "highest",
    "interop_threads": 1,
    "replaced": {},  # functions of the library, by module and name (compiler.capture.replaced)
}


def change(**settings: Any) -> None:
    """Change some of them; compiled code notices."""
    SETTINGS.update(settings)
    state.fill_unset = SETTINGS["deterministic"] and SETTINGS["fill_uninitialized_memory"]
    state.structure += 1


# ---- determinism, precision, threads ---------------------------------------------------------
@public()
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms. All algorithms of this library are deterministic. In this
    mode, new uninitialized memory (`torch.empty`, `resize_`) is also filled with NaN, or with the
    largest integer, so that you notice if it is read.

    >>> import pellucid as torch
    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, value, place in (("mode", mode, " (position 1)"), ("warn_only", warn_only, "")):
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{place} must be bool, not {type_name(value)}"
            )
    change(deterministic=mode, warn_only=warn_only)


def set_fill_uninitialized_memory(mode: bool) -> None:
    """Whether new uninitialized memory is filled while deterministic algorithms are requested."""
    if not isinstance(mode, bool):
        raise OperationError(f"expected a bool, but got {type_name(mode)}")
    change(fill_uninitialized_memory=mode)


@public()
def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were requested.

    >>> import pellucid as torch
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return SETTINGS["deterministic"]


@public()
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an algorithm that is not deterministic should only warn.

    >>> import pellucid as torch
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return SETTINGS["warn_only"]


@public()
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default", 1 or "warn", 2 or "error".

    Raises:
        TypeError: not an int or a str. RuntimeError: another value.

    >>> import pellucid as torch
    >>> torch.set_deterministic_debug_mode("error")
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise ArgumentTypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    modes: dict[Any, int] = {"default": 0, "warn": 1, "error": 2, 0: 0, 1: 1, 2: 2}
    if debug_mode not in modes:
        if isinstance(debug_mode, str):
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    change(deterministic=modes[debug_mode] > 0, warn_only=modes[debug_mode] == 1)


@public()
def get_deterministic_debug_mode() -> int:
    """0, 1 (warn) or 2 (error).

    >>> import pellucid as torch
    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not SETTINGS["deterministic"] else 1 if SETTINGS["warn_only"] else 2


@public()
def set_float32_matmul_precision(precision: str) -> None:
    """Accepted; products of float32 are always computed in float32, the "highest" precision.

    Any value other than "highest", "high" and "medium" causes a warning and has no effect.

    >>> import pellucid as torch
    >>> torch.set_float32_matmul_precision("highest")
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    if precision not in ("highest", "high", "medium"):
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    change(precision=precision)


@public()
def get_float32_matmul_precision() -> str:
    """The value given to `set_float32_matmul_precision`.

    >>> import pellucid as torch
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return SETTINGS["precision"]


@public()
def set_num_threads(num: int) -> None:
    """The number of threads that generated kernels and BLAS use.

    Raises:
        RuntimeError: not a positive int.

    >>> import pellucid as torch
    >>> before = torch.get_num_threads()
    >>> torch.set_num_threads(1)
    >>> torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    if isinstance(num, bool) or not isinstance(num, (int, np.integer)):
        raise OperationError(f"set_num_threads expects an int, but got {type_name(num)}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    tracing.setting("sets the number of threads")
    from ..kernels.matmul import blas
    from ..llvm import threads

    threads.set_num_threads(int(num))
    blas.bound(int(num))


@public()
def get_num_threads() -> int:
    """The number of threads that generated kernels use.

    >>> import pellucid as torch
    >>> torch.get_num_threads() >= 1
    True
    """
    tracing.setting("asks for the number of threads")
    from ..llvm import threads

    return threads.get_num_threads()


@public()
def set_num_interop_threads(num: int) -> None:
    """Set the number that `get_num_interop_threads` returns. It has no other effect: operations run one after another.

    Raises:
        RuntimeError: the number is not positive.

    >>> import pellucid as torch
    >>> before = torch.get_num_interop_threads()
    >>> torch.set_num_interop_threads(4)
    >>> torch.get_num_interop_threads()
    4
    >>> torch.set_num_interop_threads(before)
    """
    if num <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    change(interop_threads=int(num))


@public()
def get_num_interop_threads() -> int:
    """The value given to `set_num_interop_threads`; 1 by default.

    >>> import pellucid as torch
    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return SETTINGS["interop_threads"]


@public()
def set_flush_denormal(mode: bool) -> bool:
    """Returns False: Pellucid does not change how the processor treats denormal numbers.

    >>> import pellucid as torch
    >>> torch.set_flush_denormal(True)  # not supported
    False
    """
    return False


@public()
def set_warn_always(b: bool) -> None:
    """Show warnings every time that are normally shown once per process.

    >>> import pellucid as torch
    >>> torch.set_warn_always(True)
    >>> torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise OperationError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    tracing.setting("sets when warnings come")
    errors.warn_always = b


@public()
def is_warn_always_enabled() -> bool:
    """The value given to `set_warn_always`.

    >>> import pellucid as torch
    >>> torch.is_warn_always_enabled()
    False
    """
    return errors.warn_always


@public()
def is_storage(obj: Any, /) -> bool:
    """True for a storage object.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0])
    >>> torch.is_storage(x), torch.is_storage(x.untyped_storage())
    (False, True)
    """
    return isinstance(obj, (TypedStorage, UntypedStorage))


@public()
def is_distributed(input: Tensor) -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.is_distributed(torch.tensor([1.0]))
    False
    """
    require_tensor(input, "is_distributed")
    return False


@public()
def is_vulkan_available() -> bool:
    """False.

    >>> import pellucid as torch
    >>> torch.is_vulkan_available()
    False
    """
    return False


@public()
def compiled_with_cxx11_abi() -> bool:
    """Returns True, as PyTorch's builds do. Nothing here is compiled from C++.

    >>> import pellucid as torch
    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


@public()
def get_device_module(device: Any = None) -> Any:
    """The module of a device, such as `torch.cpu`. Without an argument it is `torch.cpu`, because
    there is no accelerator.

    Raises:
        RuntimeError: there is no such device, or it has no module.

    >>> import pellucid as torch
    >>> torch.get_device_module("cpu") is torch.cpu
    True
    """
    if not (device is None or isinstance(device, (str, dtypes.device))):
        raise OperationError(
            f"Invalid value of device '{device}', expect torch.device, str, or None"
        )
    name = "cpu" if device is None else dtypes.device(device).type
    package = __name__.partition(".")[0]
    if importlib.util.find_spec(f"{package}.{name}") is None:
        raise OperationError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        )
    return importlib.import_module(f"{package}.{name}")


# ---- tensor types by name --------------------------------------------------------------------
class _TensorType(type):
    """`torch.FloatTensor` and others: `isinstance` asks for the dtype, calling makes a tensor of it."""

    tensor_dtype: dtypes.dtype
    is_cuda = is_sparse = False

    def __instancecheck__(cls, obj: Any) -> bool:
        return (
            isinstance(obj, Tensor)
            and obj.dtype is cls.tensor_dtype
            and obj.device.type == "cpu"
            and obj.layout is dtypes.strided
        )

    @property
    def dtype(cls) -> dtypes.dtype:
        return cls.tensor_dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def _tensor_type(name: str, kind: dtypes.dtype) -> _TensorType:
    def new(cls: Any, *args: Any, **kwargs: Any) -> Tensor:
        return _made(args, kwargs, kind, exact=True)

    def refuse(cls: Any, **_: Any) -> None:
        raise ArgumentTypeError(f"type 'torch.{name}' is not an acceptable base type")

    members = {"__new__": new, "tensor_dtype": kind, "__module__": "torch"}
    made = _TensorType(name, (), {**members, "__init_subclass__": classmethod(refuse)})
    made.__doc__ = f"Old name of tensors of {kind!r}."
    return made


class _StorageMaker(_TensorType):
    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, TypedStorage) and obj.dtype is cls.tensor_dtype


def _storage_type(name: str, kind: dtypes.dtype) -> _StorageMaker:
    def new(cls: Any, *args: Any, wrap_storage: Any = None) -> TypedStorage:
        return TypedStorage.of_old(kind, name, args, wrap_storage)

    def from_buffer(*args: Any, **kwargs: Any) -> TypedStorage:
        return TypedStorage.from_buffer(*args, dtype=kind, **kwargs)

    def from_file(*args: Any, **kwargs: Any) -> TypedStorage:
        return TypedStorage.from_file(*args, dtype=kind, **kwargs)

    def new_shared(size: int) -> TypedStorage:
        return TypedStorage(UntypedStorage._new_shared(size * kind.numpy.itemsize), kind)

    members = {
        "__new__": new,
        "_new_shared": staticmethod(new_shared),
        "from_buffer": staticmethod(from_buffer),
        "_from_buffer": staticmethod(from_buffer),
        "from_file": staticmethod(from_file),
        "dtype": kind,
    }
    made = _StorageMaker(name, (), {**members, "tensor_dtype": kind, "__module__": "torch"})
    made.__doc__ = f"Old name of storages of {kind!r}."
    return made


for _kind, _title in TYPE_NAMES.items():
    if not (_kind.is_wide_unsigned or _kind.is_float8 or _kind is dtypes.complex32):
        _NAMES[_title] = _tensor_type(_title, _kind)
        _storage = _title.replace("Tensor", "Storage")
        _NAMES[_storage] = _storage_type(_storage, _kind)
_NAMES["Storage"] = _NAMES["FloatStorage"]
FUNCTIONS["torch"].update(_NAMES)
# Types of tensors that are there: PyTorch's set has those of devices and of sparse tensors, too.
_tensor_classes = {
    t for t in _NAMES.values() if type(t) is _TensorType and not t.tensor_dtype.is_complex
}
_storage_classes = {t for t in _NAMES.values() if type(t) is _StorageMaker}


@public()
def set_default_tensor_type(t: Any, /) -> None:
    """Set the default dtype by an old type name, such as "torch.DoubleTensor". Deprecated: use `set_default_dtype`.

    >>> import pellucid as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # it warns that it is deprecated
    >>> torch.set_default_tensor_type("torch.DoubleTensor")
    >>> torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if module not in ("torch", "torch.cuda", "torch.cuda.sparse", "torch.sparse"):
            raise ModuleNotFoundError(f"No module named '{module or name}'")
        within = module.partition(".")[2]
        package = __name__.partition(".")[0]
        names = vars(importlib.import_module(f"{package}.{within}")) if within else _NAMES
        if name not in names:
            raise MissingAttributeError(f"module '{module}' has no attribute '{name}'")
        t = names[name]
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
    )
    if getattr(t, "is_cuda", False) is True:
        raise no_cuda_type(t)
    if hasattr(t, "tensor_dtype") and not isinstance(t, _TensorType):
        raise ArgumentTypeError("only dense types are supported as the default type")
    if not isinstance(t, _TensorType) or not t.tensor_dtype.is_floating_point:
        known = "" if isinstance(t, _TensorType) else "invalid type object: "
        raise ArgumentTypeError(
            f"{known}only floating-point types are supported as the default type"
        )
    dtypes.set_default_dtype(t.tensor_dtype)
