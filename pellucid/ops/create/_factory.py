"""Helpers of all functions that create tensors: sizes, dtype, device and the other options."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.meta import MetaArray
from ...arrays.numpy_cpu import NAMESPACES, resized
from ...core import observe
from ...core.bind import wrap
from ...core.inplace import into
from ...core.modes import local, state
from ...core.tensor import Tensor, make_tensor, set_requires_grad
from ...core.tracing import constant
from ...errors import (
    ArgumentTypeError,
    DeviceError,
    OperationError,
    UnsupportedError,
    no_cuda,
    warn,
)
from ...llvm import threads
from ...shapes import channels_last_strides
from .._rules import as_index

_CPU = dtypes.device("cpu")
Fill = Callable[[tuple[int, ...], Any], np.ndarray]


def check_device(where: Any) -> dtypes.device:
    """The device that a `device=` argument names; refuses those that are not there."""
    if where is None:
        where = local.device or _CPU
    wanted = where if isinstance(where, dtypes.device) else dtypes.device(where)
    if wanted.type == "meta" or wanted.type in NAMESPACES:
        return wanted
    if wanted.type == "cuda":
        raise no_cuda()
    if wanted.type == "xpu":
        raise AssertionError("Torch not compiled with XPU enabled")
    raise DeviceError(
        f"PyTorch is not linked with support for {wanted.type} devices",
        hint="this build computes on the CPU",
    )


class _DeviceStack(threading.local):
    """The devices of the enclosing `with` blocks of this thread."""

    def __init__(self) -> None:
        self.saved: list[Any] = []


_stack = _DeviceStack()


def _enter_device(self: dtypes.device) -> dtypes.device:
    """Make this device the default for new tensors inside the block."""
    _stack.saved.append(local.device)
    local.device = self
    return self


def _exit_device(self: dtypes.device, *exc: object) -> None:
    local.device = _stack.saved.pop()


def _decorate_device(self: dtypes.device, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` decorated to run in a block with this device."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with self:
            return function(*args, **kwargs)

    return wrapped


# Set here and not in the class, because devices know nothing of modes.
dtypes.device.__enter__ = _enter_device
dtypes.device.__exit__ = _exit_device
dtypes.device.__call__ = _decorate_device  # type: ignore[method-assign]


def check_memory(layout: Any, pin_memory: Any) -> None:
    """Only strided tensors in ordinary memory exist here."""
    if pin_memory:
        raise OperationError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )
    if layout is not None and layout is not dtypes.strided:
        raise UnsupportedError(f"tensors of layout {layout} are not supported")


def sizes(size: Sequence[Any], function: str) -> tuple[int, ...]:
    """The shape that `f(2, 3)`, `f((2, 3))` and `f(torch.Size([2, 3]))` mean."""
    if len(size) == 1:
        first = size[0]
        if type(first) is int and first >= 0:
            return (first,)
        if isinstance(first, (tuple, list)):
            size = first
    for value in size:
        if type(value) is not int or value < 0:
            break
    else:
        return tuple(size)
    shape = []
    for position, value in enumerate(size):
        if type(value) is not int:
            try:
                if isinstance(value, bool):
                    raise TypeError
                value = as_index(value)
            except TypeError:
                raise _bad_size(function, position, value) from None
        if value < 0:
            if function == "zeros":
                raise OperationError(
                    f"{function}: Dimension size must be non-negative.", op=function
                )
            raise OperationError(
                f"Trying to create tensor with negative dimension {value}: {list(size)}",
                op=function,
            )
        shape.append(value)
    return tuple(shape)


def _bad_size(function: str, position: int, value: Any) -> Exception:
    kind = type(value).__name__
    if position == 0:
        return ArgumentTypeError(
            f"{function}(): argument 'size' (position 1) must be tuple of ints, not {kind}"
        )
    return ArgumentTypeError(
        f"{function}(): argument 'size' failed to unpack the object at pos {position + 1} with error "
        f'"type must be tuple of ints,but got {kind}"'
    )


def fresh(fill: Fill, shape: tuple[int, ...], kind: Any) -> Tensor:
    """A tensor on the new array `fill(shape, kind)`.

    Raises:
        RuntimeError: more bytes than 64 bits count.
    """
    try:
        array = fill(shape, kind)
    except ValueError:
        if math.prod(shape) * kind.itemsize < 1 << 63:
            raise
        raise OperationError(
            f"Storage size calculation overflowed with sizes={list(shape)}"
        ) from None
    if array.size >= threads.LARGE:
        threads.expect(array.size)
    if not state.slow:
        return wrap(array)
    result = make_tensor(constant(array))
    if observe.observers:
        observe.notify("created", result, ())
    return result


def build(
    shape: tuple[int, ...],
    kind: Any,
    device: Any,
    requires_grad: bool,
    fill: Fill,
    memory_format: Any = None,
) -> Tensor:
    """A new tensor whose array `fill(shape, dtype)` makes; on `meta` it is not called."""
    where = _CPU if device is None is local.device else check_device(device)
    kind = kind.numpy
    strides = None
    if memory_format is None:
        pass
    elif memory_format in (dtypes.channels_last, dtypes.channels_last_3d):
        strides = _channels_last(shape, kind, memory_format)
    elif memory_format is dtypes.preserve_format:
        raise OperationError("unsupported memory format Preserve")
    if where is not _CPU and where.type == "meta":
        result = make_tensor(MetaArray(shape, kind, strides))
    else:
        result = fresh(fill, shape, kind)
        if strides is not None:
            array = result._array
            held = np.ndarray(shape, kind, np.empty(array.nbytes, np.uint8), 0, strides)
            held[...] = array
            result._array = constant(held)
        if where is not _CPU and where.type != "cpu":
            result._array = NAMESPACES[where.type].from_host(result._array)
    return want_gradient(result) if requires_grad else result


def want_gradient(result: Tensor) -> Tensor:
    """The tensor with `requires_grad` set, as the factories' argument does it."""
    set_requires_grad(result, True)
    return result


def _channels_last(
    shape: tuple[int, ...], kind: np.dtype[Any], memory_format: Any
) -> tuple[int, ...]:
    ndim = 4 if memory_format is dtypes.channels_last else 5
    if len(shape) != ndim:
        raise OperationError(f"required rank {ndim} tensor to use {memory_format.name} format")
    return tuple(s * kind.itemsize for s in channels_last_strides(shape))


def deliver(result: Tensor, out: Tensor | None, function: str, dtype: Any = None) -> Tensor:
    """The result, written to `out=` when it is given."""
    if out is None:
        if observe.observers:
            observe.notify("created", result, ())
        return result
    if dtype is not None and isinstance(out, Tensor) and out.dtype is not dtype:
        raise OperationError(
            f"dtype {dtype.scalar_type_name} does not match dtype of out parameter ({out.dtype.scalar_type_name})"
        )
    if isinstance(out, Tensor) and not out._rg and out._array.shape != result._array.shape:
        if function == "arange" and out._array.size not in (0, result._array.size):
            warn(
                f"The number of elements in the out tensor of shape {list(out._array.shape)} is {out._array.size} which does not match "
                f"the computed number of elements {result._array.size}. Note that this may occur as a result of rounding error. The "
                f"out tensor will be resized to a tensor of shape ({result._array.size},)."
            )
        # `full` and its like resize `out` without a warning
        out._array = resized(out._array, result._array.shape, result._array)
    return into(out, result, function)
