"""Multi-head attention as one function of tensors."""

from __future__ import annotations

import math
from typing import Any

from ..core.public import public
from ..core.tensor import Tensor
from ..dtypes import bool_
from ..errors import OperationError, hinted, warn
from ._functions import T, _Namespace

F = _Namespace("nn.functional")


def _check_dims(
    query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int
) -> bool:
    """Refuse impossible numbers of dimensions; True for batched arguments."""
    n = query.ndim
    if n not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor"
        )
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.ndim != n or value.ndim != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.ndim}-D and {value.ndim}-D tensors respectively"
        )
    if padding is not None and padding.ndim != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found {padding.ndim}-D tensor instead"
        )
    if mask is not None:
        if mask.ndim not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead"
            )
        if n == 2 and mask.ndim == 3 and tuple(mask.shape) != (heads, query.shape[0], key.shape[0]):
            raise AssertionError(
                f"Expected `attn_mask` shape to be {(heads, query.shape[0], key.shape[0])} but got {mask.shape}"
            )
    return n == 3


def canonical_mask(mask: Any, name: str, other: Any, other_name: str, dtype: Any) -> Any:
    """A mask to be added to scores: where a bool mask is True, minus infinity. `other` is the type
    of a second mask.
    """
    if mask is None:
        return None
    floating = mask.dtype.is_floating_point
    if mask.dtype is not bool_ and not floating:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype is not other:
        warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
        )
    if floating:
        return mask
    return T.zeros_like(mask, dtype=dtype).masked_fill(mask, float("-inf"))


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any, attn_mask: Any, num_heads: int
) -> bool:
    return _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)


def _none_or_dtype(input: Tensor | None) -> Any:
    """The type of a tensor, or None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise OperationError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Any,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    return canonical_mask(
        mask, mask_name, other_type if check_other else None, other_name, target_type
    )


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Queries, keys and values by one weight whose rows are those of three."""
    return list(_projections(q, k, v, w, b))


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries, keys and values by a weight for each.

    Raises:
        AssertionError: a weight or a bias of another shape.
    """
    e = q.shape[-1]
    for name, w, b, x in (("query", w_q, b_q, q), ("key", w_k, b_k, k), ("value", w_v, b_v, v)):
        if tuple(w.shape) != (e, x.shape[-1]):
            raise AssertionError(
                f"expecting {name} weights shape of {(e, x.shape[-1])}, but got {w.shape}"
            )
        if b is not None and tuple(b.shape) != (e,):
            raise AssertionError(f"expecting {name} bias shape of {(e,)}, but got {b.shape}")
    return F.linear(q, w_q, b_q), F.linear(k, w_k, b_k), F.linear(v, w_v, b_v)


def _projections(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Any
) -> tuple[Any, ...]:
    """q, k, v from one packed weight: one product where arguments are the same tensor."""
    e = query.shape[-1]
    if key is value:
        if query is key:
            return _parts(F.linear(query, weight, bias), 3)
        w_q, w_kv = weight.split([e, 2 * e])
        b_q, b_kv = (None, None) if bias is None else bias.split([e, 2 * e])
        return (F.linear(query, w_q, b_q), *_parts(F.linear(key, w_kv, b_kv), 2))
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


def _parts(x: Tensor, count: int) -> tuple[Any, ...]:
    """The parts of a projection one after the other in memory, so that heads are views of them."""
    apart = x.unflatten(-1, (count, -1)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple([apart[k] for k in range(count)])


def _separate(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Any, ...], bias: Any
) -> tuple[Any, ...]:
    for name, w, x in zip(("q", "k", "v"), weights, (query, key, value)):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        expected = (query.shape[-1], x.shape[-1])
        if tuple(w.shape) != expected:
            raise AssertionError(
                f"expecting {name} projection weight of shape {expected}, but got {w.shape}"
            )
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple(F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


def _check_mask(mask: Any, rows: int, columns: int, batch_heads: int) -> Any:
    if mask is None:
        return None
    wanted = (rows, columns) if mask.ndim == 2 else (batch_heads, rows, columns)
    if tuple(mask.shape) != wanted:
        raise OperationError(
            f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


@public(namespace="nn.functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """softmax(q k^T / sqrt(d)) v for each head, between projections in and out.

    Args:
        query, key, value: (L, B, E), (S, B, E), (S, B, E), or without B.
        key_padding_mask: (B, S), True or -inf where a key is padding.
        attn_mask: (L, S) or (B * heads, L, S), True or -inf where attention is forbidden.
        need_weights: return the attention weights too, averaged over heads with
            `average_attn_weights`.
        is_causal: a hint that `attn_mask` is the causal one.

    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> import pellucid as torch
    >>> x = torch.randn(5, 2, 8)
    >>> out, weights = torch.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 8, 2, torch.randn(24, 8), None, None, None, False, 0.0, torch.eye(8), None
    ... )
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same_qk, same_kv = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same_qk else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, batch, width = query.shape
    columns = key.shape[0]
    dtype = query.dtype
    padding = canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise OperationError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        mask = None  # the hint is trusted
    else:
        mask = canonical_mask(attn_mask, "attn_mask", None, "", dtype)
        is_causal = is_causal and padding is None
    if width != embed_dim_to_check:
        raise hinted(
            AssertionError(
                f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
            ),
            f"the last size of the query must be embed_dim: make embed_dim {width}, or make the previous layer output {embed_dim_to_check}",
        )
    size = width // num_heads
    if size * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        q, k, v = _separate(
            query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias
        )
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projections(query, key, value, in_proj_weight, in_proj_bias)
    mask = _check_mask(mask, rows, columns, batch * num_heads)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError(
            "bias_k is set but bias_v is None"
            if bias_v is None
            else "bias_v is set but bias_k is None"
        )

    added = 0
    if bias_k is not None and bias_v is not None:
        for static, what in ((static_k, "key"), (static_v, "value")):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {what}.")
        k = T.cat([k, bias_k.repeat(1, batch, 1)])
        v = T.cat([v, bias_v.repeat(1, batch, 1)])
        added += 1
    bh = batch * num_heads
    q = q.view(rows, bh, size).transpose(0, 1)
    k = (
        _static(static_k, bh, size, "k")
        if static_k is not None
        else k.view(k.shape[0], bh, size).transpose(0, 1)
    )
    v = (
        _static(static_v, bh, size, "v")
        if static_v is not None
        else v.view(v.shape[0], bh, size).transpose(0, 1)
    )
    if add_zero_attn:
        zero = T.zeros((bh, 1, size), dtype=k.dtype, device=k.device)
        k, v = T.cat([k, zero], 1), T.cat([v, zero], 1)
        added += 1
    if added:
        mask = None if mask is None else F.pad(mask, (0, added))
        padding = None if padding is None else F.pad(padding, (0, added))
    columns = k.shape[1]
    if padding is not None:
        for d, n in ((0, batch), (1, columns)):
            if padding.shape[d] != n:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{d}] to be {n}, but got {padding.shape[d]}"
                )
        padding = (
            padding.view(batch, 1, 1, columns).expand(-1, num_heads, -1, -1).reshape(bh, 1, columns)
        )
        mask = padding if mask is None else mask + padding
    dropout = dropout_p if training else 0.0

    if need_weights:
        if is_causal and mask is None:
            raise AssertionError("FIXME: is_causal not implemented for need_weights")
        scaled, keys = q * math.sqrt(1.0 / size), k.transpose(-2, -1)
        if mask is None or mask.dtype is not q.dtype:
            scores = T.bmm(scaled, keys)
            scores = scores if mask is None else mask + scores
        else:  # rounded once
            scores = T.baddbmm(mask, scaled, keys)
        weights = F.softmax(scores, -1)
        if dropout > 0.0:
            weights = F.dropout(weights, dropout)
        out = T.bmm(weights, v).transpose(0, 1).reshape(rows * batch, width)
        out = F.linear(out, out_proj_weight, out_proj_bias).view(
            rows, batch, out_proj_weight.shape[0]
        )
        weights = weights.reshape(batch, num_heads, rows, columns)
        if average_attn_weights:
            weights = weights.mean(1)
        return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
    if mask is not None:
        mask = (
            mask.unsqueeze(0)
            if mask.shape[0] == 1
            else mask.reshape(batch, num_heads, mask.shape[1], columns)
        )
    heads = [t.view(batch, num_heads, t.shape[1], size) for t in (q, k, v)]
    out = F.scaled_dot_product_attention(*heads, mask, dropout, is_causal)
    out = out.permute(2, 0, 1, 3).reshape(rows * batch, width)
    out = F.linear(out, out_proj_weight, out_proj_bias).reshape(
        rows, batch, out_proj_weight.shape[0]
    )
    return (out if batched else out.squeeze(1)), None


def _static(given: Tensor, bh: int, size: int, name: str) -> Tensor:
    """A key or value that was projected and split before: (B * heads, S, d)."""
    for d, n in ((0, bh), (2, size)):
        if given.shape[d] != n:
            raise AssertionError(
                f"expecting static_{name}.size({d}) of {n}, but got {given.shape[d]}"
            )
    return given
