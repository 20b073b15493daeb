"""Tensors inside function transforms, under the names of `torch._C._functorch`."""

from __future__ import annotations

from ..core.modes import local as _local
from ..core.tensor import Tensor
from ..core.transforms import batching as _batching
from ..errors import OperationError


def _active() -> bool:
    return bool(_local.transforms or _batching.levels.stack)


def maybe_current_level() -> int | None:
    """How many function transforms this runs inside of; None outside of all.

    >>> import pellucid as torch
    >>> torch.func.grad(lambda x: x * maybe_current_level())(torch.tensor(2.0))
    tensor(1.)
    >>> print(maybe_current_level())
    None
    """
    return _local.transforms or len(_batching.levels.stack) or None


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether it is one sample of a batch, inside of `vmap`."""
    return _batching.level_of(tensor) > 0


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: there is one kind of batched tensors, `is_batchedtensor`."""
    return False


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """False: gradients inside of `grad` are recorded on the tensors themselves."""
    return False


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether it is one sample of a batch, inside of `vmap`."""
    return is_batchedtensor(tensor)


def maybe_get_level(tensor: Tensor) -> int:
    """The number of the `vmap` it belongs to; -1 outside."""
    return _batching.level_of(tensor) or -1


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension of the batch: the first; -1 for a tensor that is no sample of one."""
    return 0 if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """All samples of a batched tensor, the batch in the first dimension; another tensor as it is."""
    return _batching.physical(tensor) if is_batchedtensor(tensor) else tensor


def _add_batch_dim(self: Tensor, batch_dim: int, level: int) -> Tensor:
    """One sample of the tensor along a dimension, for a running `vmap`."""
    return _batching.batched(self.movedim(batch_dim, 0), level)


def _remove_batch_dim(self: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """All samples, in a dimension of their own."""
    whole, found = _batching.unwrap(self, level, batch_size)
    return (whole if found else _batching.spread(whole, batch_size)).movedim(0, out_dim)


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """A dimension moved in front of another one, and the two as one.

    >>> import pellucid as torch
    >>> reshape_dim_into(0, 1, torch.ones(2, 3, 5)).shape
    torch.Size([3, 10])
    """
    ndim = x.ndim
    src, dst = src % ndim, dst % (ndim - 1)  # `dst` counts the others
    moved = x.movedim(src, dst)
    return moved.flatten(dst, dst + 1)


def reshape_dim_outof(src: int, size1: int, x: Tensor) -> Tensor:
    """A dimension as two, the first one of size `size1`.

    Raises:
        RuntimeError: the dimension is no multiple of it.

    >>> import pellucid as torch
    >>> reshape_dim_outof(0, 2, torch.ones(6, 3)).shape
    torch.Size([2, 3, 3])
    """
    src %= x.ndim
    size = x.shape[src]
    if size % size1:
        raise OperationError(f"Expected {size} to be a multiple of {size1}", op="reshape_dim_outof")
    return x.unflatten(src, (size1, size // size1))


def dlevel(tensor: Tensor) -> int:
    """The number of the `vmap` it belongs to, -1 when that is over; 0 outside."""
    level = _batching.level_of(tensor)
    live = any(known.number == level for known in _batching.levels.stack)
    return level if live or not level else -1


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Whether `vmap` may run sample by sample what has no batched form."""
    _batching.fallback.allowed = bool(enabled)


def _is_vmap_fallback_enabled() -> bool:
    return _batching.fallback.allowed


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Whether `vmap` warns of what it runs sample by sample."""
    _batching.fallback.warns = bool(enabled)


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    return _batching.fallback.warns
