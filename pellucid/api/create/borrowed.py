"""Tensors in the memory of other objects: `asarray` and `frombuffer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...core.public import public
from ...core.tensor import Tensor, make_tensor, set_requires_grad
from ...errors import ArgumentValueError, OperationError, warn_once
from ...ops.create._factory import check_device, want_gradient
from .construct import from_dlpack, from_numpy, tensor


def _has_buffer(obj: Any) -> bool:
    """Whether Python's buffer protocol gives the object's bytes."""
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


@public()
def frombuffer(
    buffer: Any,
    *,
    dtype: dtypes.dtype,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-d tensor that shares the memory of an object with the buffer protocol.

    Raises:
        ValueError: an offset or count outside the buffer.

    >>> import pellucid as torch
    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    dtype = dtypes.check_dtype(dtype, "frombuffer") or dtypes.get_default_dtype()
    if not _has_buffer(buffer):
        raise ArgumentValueError("object does not implement Python buffer protocol.")
    size = memoryview(buffer).nbytes
    if size == 0 or count == 0:
        raise ArgumentValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ArgumentValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ArgumentValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({dtype.itemsize})"
        )
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ArgumentValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be greater than actual "
            f"buffer length ({size} bytes)"
        )
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    if not array.flags.writeable:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
            "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or make "
            "it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    result = make_tensor(array)
    if requires_grad:
        set_requires_grad(result, True)
    return result


@public()
def asarray(
    obj: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Convert an object to a tensor, sharing its memory where dtype and device allow it.

    Args:
        obj: a tensor, a NumPy array, an object that supports DLPack or Python's buffer protocol
            (its bytes are read as `dtype`), a number, or nested sequences of numbers.
        copy: True always copies, False refuses to. Default: copy where needed.
        requires_grad: whether the result records gradients. Default: as `obj`.

    Raises:
        ValueError: `copy=False`, and the memory cannot be shared.

    >>> import pellucid as torch
    >>> torch.asarray(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    dtype = dtypes.check_dtype(dtype, "asarray")
    shared: Tensor | None = None
    if isinstance(obj, np.generic):
        if copy is False:
            raise OperationError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
    elif isinstance(obj, Tensor):
        shared = obj
    elif isinstance(obj, np.ndarray):
        shared = from_numpy(obj)
    elif hasattr(obj, "__dlpack__"):
        shared = from_dlpack(obj)
    elif _has_buffer(obj):
        shared = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    if shared is None:
        if copy is False and not isinstance(obj, np.generic):
            raise ArgumentValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    where = check_device(device) if device is not None else shared.device
    if copy is False and where != shared.device:
        raise ArgumentValueError(f"can't alias tensor from device '{shared.device}' to '{where}'.")
    if copy is False and dtype not in (None, shared.dtype):
        raise ArgumentValueError(
            f"can't alias tensor with dtype '{shared.dtype.scalar_type_name}' into dtype '{dtype.scalar_type_name}'."
        )
    result = shared.to(device=where, dtype=dtype, copy=bool(copy))
    if requires_grad is None and result.requires_grad:
        warn_once(
            "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass requires_grad=False "
            "explicitly to get the old behavior and silence this warning."
        )
    elif requires_grad is False and result.requires_grad:
        return result.detach()
    return want_gradient(result) if requires_grad and not result.requires_grad else result
