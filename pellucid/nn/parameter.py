"""Tensors that a Module registers: Parameter, Buffer, and their uninitialized forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.public import METHODS
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


def unusable(name: str, lazy: Any) -> Exception:
    """The error of a function that is given a parameter or buffer without a shape."""
    return ArgumentValueError(
        f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a `LazyModule` or "
        f"explicitly manipulating `torch.nn.parameter.{type(lazy).__name__}` objects. When using LazyModules Call `forward` with a "
        "dummy batch to initialize the parameters before calling torch functions"
    )


class _Uninitialized:
    """What parameters and buffers without a shape have in common."""

    _array: Any
    _rg: bool
    _keeps_type = False
    persistent: Any

    class _interpreter:  # noqa: N801
        @staticmethod
        def run(below: Any, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            (lazy,) = [x for x in args if isinstance(x, _Uninitialized)][:1]
            if op.name == "cast":  # module.to(dtype) before the first call
                return make_tensor(np.empty(0, params["dtype"]))
            method = op.name in METHODS
            raise unusable(
                f"<method '{op.name}' of 'torch._C.TensorBase' objects>" if method else op.name,
                lazy,
            )

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

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        kind: Any = type(self)
        result = kind(self._rg) if isinstance(self, Parameter) else kind(persistent=self.persistent)
        result._array = np.empty(0, self._array.dtype)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), ((self._rg,) if isinstance(self, Parameter) else ())


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]
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

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        self = make_tensor(np.empty(0, (dtype or get_default_dtype()).numpy), cls)
        set_requires_grad(self, requires_grad)
        return self

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()


class UninitializedBuffer(_Uninitialized, Tensor):  # type: ignore[misc]
    """A buffer whose shape is inferred at the first call of its lazy module.

    >>> import pellucid as torch
    >>> buffer = torch.nn.UninitializedBuffer()
    >>> buffer.materialize((2, 3))
    >>> buffer.shape
    torch.Size([2, 3])
    """

    cls_to_become = Tensor
    persistent: bool

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
        **_: Any,
    ) -> Any:
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
