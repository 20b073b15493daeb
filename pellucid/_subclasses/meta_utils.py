"""`torch._subclasses.meta_utils`: tensors without data that are like others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ..core.public import FUNCTIONS
from ..core.tensor import Parameter, Tensor
from ..devices import sparse_coo, strided
from ..errors import UnsupportedError

__all__ = ["MetaConverter", "assert_metadata_eq", "is_sparse_any", "is_sparse_coo"]


def is_sparse_coo(t: object) -> bool:
    """Whether it is a sparse tensor of coordinates."""
    return isinstance(t, Tensor) and t.layout is sparse_coo


def is_sparse_any(t: object) -> bool:
    """Whether it is a sparse tensor of any layout."""
    return isinstance(t, Tensor) and str(t.layout).startswith("torch.sparse")


def assert_metadata_eq(
    assert_eq: Callable[[Any, Any], None], m1: Tensor, m2: Tensor, *, skip_symbolic: bool = False
) -> None:
    """Compare the descriptions of two tensors, one property at a time."""
    for name in ("dtype", "shape", "requires_grad", "is_leaf", "grad_fn"):
        a, b = getattr(m1, name), getattr(m2, name)
        assert_eq(*((a is None, b is None) if name == "grad_fn" else (a, b)))
    if m1.layout is strided:
        assert_eq(m1.stride(), m2.stride())
        assert_eq(m1.storage_offset(), m2.storage_offset())
        assert_eq(m1._is_view(), m2._is_view())


class MetaConverter:
    """Makes tensors without data that are like others: the same one for the same tensor, views of
    one for views of the other.

    >>> import pellucid as torch
    >>> convert = MetaConverter()
    >>> x = torch.ones(2, 3).t()
    >>> convert(x).stride(), convert(x) is convert(x)
    ((1, 3), True)
    """

    def __init__(self, *, copy_data: bool = False) -> None:
        if copy_data:
            raise UnsupportedError("MetaConverter(copy_data=True) is not supported")
        self.hit = self.miss = 0
        self.tensor_memo: WeakKeyDictionary[_Key, Tensor] = WeakKeyDictionary()

    def successful(self) -> bool:
        """Whether all tensors that it was given could be made."""
        return self.hit > 0 and self.miss == 0

    def __call__(self, t: Any, shape_env: Any = None, *, callback: Any = None, **_: Any) -> Any:
        """A tensor on the device "meta" like this one; NotImplemented for what it cannot make."""
        plain = type(t) in (Tensor, Parameter) and t.layout is strided and not t.is_quantized
        if not plain:
            self.miss += 1
            return NotImplemented
        self.hit += 1
        return self.meta_tensor(t, callback)

    def meta_tensor(self, t: Tensor, callback: Any = None, **_: Any) -> Tensor:
        """A tensor on the device "meta" like this one; with `callback`, what that makes of it."""
        key = t.__dict__.setdefault("_meta_key", _Key())
        known = self.tensor_memo.get(key)
        if known is not None:
            return known
        make = callback or (lambda build: build())
        base = t._base if t._is_view() else None
        if base is not None and base.dtype is t.dtype:
            whole = self.meta_tensor(base, callback)
            made: Tensor = whole.as_strided(t.shape, t.stride(), t.storage_offset())
        else:
            made = make(lambda: _like(t))
        self.tensor_memo[key] = made
        return made


class _Key:
    """Lives as long as the tensor that has it, which may compare by its elements."""


def _like(t: Tensor) -> Tensor:
    made = FUNCTIONS["torch"]["empty_strided"](t.shape, t.stride(), dtype=t.dtype, device="meta")
    if isinstance(t, Parameter):
        return Parameter(made, requires_grad=t.requires_grad)
    if t.requires_grad:
        made.requires_grad_()
        if not t.is_leaf:
            return made.clone()
    return made
