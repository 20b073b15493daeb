"""Tensors that a Module registers: Parameter, Buffer, and their uninitialized forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..api.overriding import DisableTorchFunctionSubclass, first_object
from ..core.tensor import Parameter as Parameter
from ..core.tensor import Tensor, make_tensor, set_requires_grad
from ..dtypes import get_default_dtype
from ..errors import ArgumentValueError, OperationError

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


_ParameterMeta = type(Parameter)


class _BufferMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer:
            return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return super().__instancecheck__(instance)


class Buffer(metaclass=_BufferMeta):
    """A tensor that a Module registers as a buffer when it is assigned as an attribute.

    Args:
        data: the tensor; its memory is shared.
        persistent: whether it is part of the module's `state_dict`.

    Example:
        >>> import pellucid as torch
        >>> module = torch.nn.Module()
        >>> module.mean = torch.nn.Buffer(torch.zeros(2))
        >>> list(module.state_dict())
        ['mean']
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = make_tensor(np.empty(0, get_default_dtype().numpy))
        result: Any = data.detach()
        if data.requires_grad:
            set_requires_grad(result, True)
        result.persistent = persistent
        result._is_buffer = True
        return result


_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to "
    "load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their "
    "attributes."
)


def unusable(name: str) -> Exception:
    """The error of a function that is given a parameter or buffer without a shape."""
    return ArgumentValueError(
        f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` or "
        "explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` with a "
        "dummy batch to initialize the parameters before calling torch functions"
    )


# what may be called before there is a shape
_WITHOUT_VALUES = frozenset(
    "__hash__ size copy_ is_complex is_floating_point half float double char short int long cuda cpu to get_device type "
    "__reduce_ex__ __deepcopy__ __repr__".split()
)
_WRITTEN_IN_PYTHON = frozenset(
    "__len__ storage norm split unique stft __contains__ __iter__".split()
)


def _refused(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    name = getattr(func, "__name__", "")
    if name in _WITHOUT_VALUES or type(func).__name__ == "method-wrapper":
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))
    if not getattr(func, "__qualname__", "").startswith("Tensor."):
        raise unusable(f"<built-in method {name} of type object at {hex(id(cls))}>")
    if name in _WRITTEN_IN_PYTHON:
        raise unusable(repr(func))
    kind = "slot wrapper" if name.startswith("__") else "method"
    raise unusable(f"<{kind} '{name}' of 'torch._C.TensorBase' objects>")


class _Uninitialized:
    """What parameters and buffers without a shape have in common."""

    _array: Any
    _rg: bool
    device: Any
    dtype: Any
    _keeps_type = False
    persistent: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape, with undefined values."""
        kind = self._array.dtype if dtype is None else dtype.numpy
        if device is not None and str(device).startswith("meta"):
            from ..arrays.meta import MetaArray

            self._array = MetaArray(tuple(shape), kind)
        else:
            self._array = np.empty(shape, kind)
        self.__class__ = self.cls_to_become  # type: ignore[attr-defined]

    @property
    def shape(self) -> Any:
        """Not supported: there is no shape yet."""
        raise OperationError(_NO_SHAPE)

    def share_memory_(self) -> Any:
        """Not supported: there is no memory yet."""
        raise OperationError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        kind: Any = type(self)
        result = kind(self._rg) if isinstance(self, Parameter) else kind(persistent=self.persistent)
        result._array = np.empty(0, self._array.dtype)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self._rg, self.device, self.dtype)

    @property
    def is_leaf(self) -> bool:
        """True: nothing computed it."""
        return True


class UninitializedParameter(_Uninitialized, Parameter, asked_from_first_object=True):  # type: ignore[misc]
    """A parameter whose shape is inferred at the first call of its lazy module.

    >>> import pellucid as torch
    >>> layer = torch.nn.LazyLinear(3)
    >>> type(layer.weight).__name__
    'UninitializedParameter'
    >>> out = layer(torch.ones(1, 2))
    >>> layer.weight.shape
    torch.Size([3, 2])
    """

    cls_to_become = Parameter
    __torch_function__ = classmethod(_refused)

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        first_object(cls)
        self = make_tensor(np.empty(0, (dtype or get_default_dtype()).numpy), cls)
        set_requires_grad(self, requires_grad)
        return self

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()


class UninitializedBuffer(_Uninitialized, Tensor, asked_from_first_object=True):  # type: ignore[misc, call-arg]
    """A buffer whose shape is inferred at the first call of its lazy module.

    >>> import pellucid as torch
    >>> buffer = torch.nn.UninitializedBuffer()
    >>> buffer.materialize((2, 3))
    >>> buffer.shape
    torch.Size([2, 3])
    """

    cls_to_become = Tensor
    __torch_function__ = classmethod(_refused)
    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
        **_: Any,
    ) -> Any:
        first_object(cls)
        self = make_tensor(np.empty(0, (dtype or get_default_dtype()).numpy), cls)
        self.persistent = persistent
        self._is_buffer = True
        return self

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()


UninitializedTensorMixin = _Uninitialized


def is_lazy(param: Any) -> bool:
    """True for a parameter or buffer without a shape yet."""
    return isinstance(param, _Uninitialized)
