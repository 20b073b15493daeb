"""Causal masks that remember what they are (`torch.nn.attention.bias`)."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ...api.overriding import DisableTorchFunctionSubclass
from ...core.tensor import Tensor, make_tensor
from ...errors import ArgumentValueError, warn
from .. import functional

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Where the diagonal of a causal mask starts: in the upper left corner, or ending in the lower
    right one.
    """

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """The causal mask `(seq_len_q, seq_len_kv)`, made when it is needed; True where a query sees a
    key.

    As the `attn_mask` of `scaled_dot_product_attention` it stands for `is_causal` where that means
    the same. Any other operation gets the Boolean mask.

    >>> import pellucid as torch
    >>> from pellucid.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        mask = np.tri(
            seq_len_q,
            seq_len_kv,
            seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0,
            dtype=bool,
        )
        self: CausalBias = make_tensor(mask, cls)
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        return self

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        super().__init__()
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!",
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as an ordinary tensor."""
        return make_tensor(self._array)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func == functional.scaled_dot_product_attention:
            return cls._attend(*args, **kwargs)
        with DisableTorchFunctionSubclass():
            result = func(*[_plain(a) for a in args], **{k: _plain(v) for k, v in kwargs.items()})
        return result

    @staticmethod
    def _attend(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Any = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        **options: Any,
    ) -> Tensor:
        if is_causal:
            raise ArgumentValueError("CausalBias should not be used with causal=True")
        with DisableTorchFunctionSubclass():
            sizes = (query._array.shape[-2], key._array.shape[-2])
            same = (
                attn_mask.variant == CausalVariant.UPPER_LEFT
                or attn_mask.seq_len_q == attn_mask.seq_len_kv
            )
            causal = same and sizes == (attn_mask.seq_len_q, attn_mask.seq_len_kv)
            mask = None if causal else attn_mask._materialize()
            return functional.scaled_dot_product_attention(
                query, key, value, mask, dropout_p, causal, **options
            )


def _plain(value: Any) -> Any:
    if isinstance(value, CausalBias):
        return value._materialize()
    return type(value)(_plain(v) for v in value) if type(value) in (list, tuple) else value


def causal_upper_left(*size: int) -> CausalBias:
    """The mask in which query i sees the keys up to i.

    Raises:
        AssertionError: not two sizes.
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask in which the last query sees all keys, and each earlier one a key less.

    Raises:
        AssertionError: not two sizes.
    """
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
