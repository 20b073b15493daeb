"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import config, shapes
from ...arrays import numpy_cpu
from ...arrays.halves import HALVES, in_float32
from ...arrays.native import kernels
from ...core.bind import wrap
from ...core.display.packing import hooked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled, value_at
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...core.transforms.unfolding import Unfolding
from ...core.transforms.whole import one_node
from ...errors import OperationError
from ...shapes import normalize_dim
from .._format import in_order_of
from .._rules import low_precision_alone, require_tensor
from .._samples import Sample
from .dropout import check_probability, dropout

_F32 = np.dtype(np.float32)


def _scores(xp: Any, q: Any, k: Any, bias: Any, causal: bool, scale: float) -> Any:
    s = xp.matmul(q, xp.swapaxes(k, -1, -2)) * xp.asarray(scale, q.dtype)
    if causal:
        rows, columns = s.shape[-2:]
        s = xp.where(xp.tri(rows, columns, 0, dtype=bool), s, xp.asarray(-xp.inf, s.dtype))
    return s if bias is None else s + bias


def _one_head(a: Any, flat: bool) -> Any:
    """With `flat`, insert a dimension for one head into a stack of three dimensions."""
    return a[:, None] if flat and a is not None and a.ndim == 3 else a


def _attention(xp: Any, q: Any, k: Any, v: Any, bias: Any, *, causal: bool, scale: float) -> Any:
    if xp is numpy_cpu and q.dtype in HALVES:
        # In two bytes, scores have errors that the exponentials amplify: compute weights in float32
        # and round once.
        return in_float32(_attention, xp, q, k, v, bias, causal=causal, scale=scale)
    if type(q) is np.ndarray and q.dtype is _F32 and config.kernels:
        flat = q.ndim == 3
        given = [_one_head(a, flat) for a in (q, k, v, bias)] if flat else (q, k, v, bias)
        made = kernels.rows.attention.attention(*given, causal, scale)
        if made is not None:
            # The statistics have fewer dimensions than the weights, by which compiled programs tell
            # them apart.
            out, kept = (a[:, 0] for a in made) if flat else made
            return out, ("kernel", kept)
    s = _scores(xp, q, k, bias, causal, scale)
    p = xp.softmax(s, -1)
    if s.size:  # a query that sees no key has zero weights
        p = xp.where(xp.max(s, -1, keepdims=True) == -xp.inf, xp.zeros((), p.dtype), p)
    return xp.matmul(p, v), ("plain", p)


def _weights(F: Any, s: Any) -> Any:
    """Return the softmax of scores, with zeros for a query that sees no key."""
    last = len(s.shape) - 1
    if not s.shape[last]:
        return F.softmax(s, dim=last)
    blind = F.eq(F.amax(s, dim=(last,), keepdim=True), -math.inf)
    return F.where(blind, 0.0, F.softmax(F.where(blind, 0.0, s), dim=last))


def _t(F: Any, x: Any) -> Any:
    n = len(x.shape)
    return F.transpose(x, dim0=n - 2, dim1=n - 1)


def _attention_vjp(
    F: Any,
    g: Any,
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    bias_shape: Any,
    aux: Any,
    needs: Any,
    causal: bool,
    scale: float,
) -> tuple[Any, ...]:
    kind, saved = aux
    if isinstance(query, Tensor) and query._array.dtype in HALVES:
        dtype = query._array.dtype
        g, query, key, value, bias = (
            None if t is None else F.cast(t, dtype=_F32) for t in (g, query, key, value, bias)
        )
        made = _attention_vjp(F, g, query, key, value, bias, bias_shape, aux, needs, causal, scale)
        return tuple(None if t is None else F.cast(t, dtype=dtype) for t in made)
    if F.raw and kind == "kernel" and not needs[3]:
        flat = len(query.shape) == 3
        arrays = [_one_head(a, flat) for a in (g, query, key, value)]
        made = kernels.rows.attention.attention_backward(
            *arrays, saved[:, None] if flat else saved, _one_head(bias, flat), causal, scale
        )
        if made is not None:
            return (*[a[:, 0] for a in made], None) if flat else (*made, None)
    if F.raw and kind == "plain":
        p = saved
    else:
        s = F.matmul(query, _t(F, key)) * scale
        if causal:
            rows, columns = query.shape[-2], key.shape[-2]
            mask = constant(np.tri(rows, columns, 0, dtype=bool))
            s = F.where(mask if F.raw else wrap(mask), s, -math.inf)
        if bias is not None:
            s = s + bias
        p = _weights(F, s)
    gv = F.matmul(_t(F, p), g) if needs[2] else None
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, gv, None
    gp = F.matmul(g, _t(F, value))
    last = len(p.shape) - 1
    gs = p * (gp - F.sum(gp * p, dim=(last,), keepdim=True))
    gq = F.matmul(gs, key) * scale if needs[0] else None
    gk = F.matmul(_t(F, gs), query) * scale if needs[1] else None
    return gq, gk, gv, F.sum_to(gs, shape=bias_shape) if needs[3] else None


def _attention_aval(q: Any, k: Any, v: Any, bias: Any, **_: Any) -> Any:
    scores = shapes.matmul_shape(q[0], (*k[0][:-2], k[0][-1], k[0][-2]))
    return shapes.matmul_shape(scores, v[0]), q[1]


def _onnx_attention(c: Any) -> Any:
    rank = len(c.shape())
    perm = [*range(rank - 2), rank - 1, rank - 2]
    query = c.emit("Mul", c[0], c.number(float(c.p["scale"])))
    scores = c.emit("MatMul", query, c.emit("Transpose", c[1], perm=perm))
    if c.p["causal"]:
        mask = c.triangle(c.shape()[-2], c.shape(1)[-2], 0)
        scores = c.emit("Where", mask, scores, c.number(-np.inf))
    if c.has(3):
        scores = c.emit("Add", scores, c[3])
    return c.emit("MatMul", c.emit("Softmax", scores, axis=-1), c[2])


def _in_one(q: Any, made: Any, learned_mask: bool) -> bool:
    """Return whether PyTorch has a single node for attention with queries of shape `q`."""
    return len(made) == 4 and q[-1] == made[-1] and not learned_mask


def _shown(node: Any) -> Any:
    """Return PyTorch's name for the node and its edges. PyTorch's node has no edge to a mask that
    wants no gradient.
    """
    if node.inputs[0] is not None:
        q = value_at(node.inputs[0])[0]
    else:
        kept = dict(zip(node.plan.entries, node.saved or (), strict=False)).get(("in", 0))
        q = getattr(kept, "shape", node.shape)
    if _in_one(q, node.shape, node.inputs[3:] != () and node.inputs[3] is not None):
        return "ScaledDotProductFlashAttentionForCpuBackward0", (0, 1, 2)
    return "MmBackward0" if len(node.shape) == 2 else "UnsafeViewBackward0"


def safe_softmax_gradient(g: Any, out: Any, dim: int = -1) -> tuple[Any]:
    """The gradient of a softmax some of whose rows are zeros, by its result."""
    part = g * out
    return (part - out * part.sum(dim, keepdim=True),)


@one_node("SafeSoftmax", "scores", "out", safe_softmax_gradient)
def _safe_softmax(scores: Tensor) -> Tensor:
    return titled(_weights(F, scores), "SafeSoftmax", of=(scores,), dim=-1)


def _by_products(
    q: Any, k: Any, v: Any, bias: Any, *, causal: bool, scale: float, dropout_p: float = 0.0
) -> Any:
    """Compute attention from other operations, as PyTorch does where it has no kernel."""
    kind = q._array.dtype
    # in two bytes, the errors of scores could exceed the differences between weights
    if kind in HALVES:
        q, k, v = (F.cast(t, dtype=_F32) for t in (q, k, v))
        bias = None if bias is None else F.cast(bias, dtype=_F32)
    root = math.sqrt(abs(scale))
    scores = F.matmul(_times(q, math.copysign(root, scale)), _times(k.transpose(-2, -1), root))
    if causal:
        seen = np.tri(q._array.shape[-2], k._array.shape[-2], 0, dtype=bool)
        bias = wrap(constant(np.where(seen, 0, -np.inf).astype(q._array.dtype)))
    if bias is not None:
        scores = scores + bias
    p = _safe_softmax(scores)
    if dropout_p > 0.0:
        p = dropout(p, dropout_p, True)
    made = F.matmul(p, v)
    return F.cast(made, dtype=kind) if kind in HALVES else made


def _unfolded(q: Any, k: Any, v: Any, bias: Any, *, causal: bool, scale: float) -> Any:
    made = (*q._array.shape[:-1], v._array.shape[-1])
    if _in_one(q._array.shape, made, bias is not None and bias._rg):
        return None
    return _by_products(q, k, v, bias, causal=causal, scale=scale)


attention_op = defop(
    "scaled_dot_product_attention",
    "query key value bias?",
    forward=_attention,
    aux=True,
    aval=_attention_aval,
    work=lambda size, query, key, *_: (math.prod(query) + size) * int(key[-2]),
    vjp=_attention_vjp,
    grad_name="ScaledDotProductFlashAttentionForCpu",
    variant=_shown,
    nodes=Unfolding(_unfolded),
    autocast="lower",
    batch=lambda b: None if b[3] is not None else b.call(*b.whole()),
    onnx=_onnx_attention,
    advice="leave at least one position unmasked in every row",
    samples=lambda rng: [
        Sample(
            (rng.random((2, 3, 4)), rng.random((2, 5, 4)), rng.random((2, 5, 2)), None),
            {"causal": False, "scale": 0.5},
        ),
        Sample(
            (rng.random((2, 3, 4)), rng.random((2, 3, 4)), rng.random((2, 3, 4)), None),
            {"causal": True, "scale": 0.5},
        ),
        Sample(
            (
                rng.random((2, 1, 3, 4)),
                rng.random((2, 1, 5, 4)),
                rng.random((2, 1, 5, 2)),
                rng.random((3, 5)),
            ),
            {"causal": False, "scale": 1.0},
        ),
    ],
)


def _times(x: Tensor, number: float) -> Tensor:
    """Return a product with a number, with the node that PyTorch's functions create."""
    return titled(x * number, "MulBackward1", of=(x,), other=number)


@public(namespace="nn.functional")
@low_precision_alone
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention: `softmax(query key^T * scale + mask) value`.

    Args:
        query: `(..., L, E)`.
        key, value: `(..., S, E)` and `(..., S, Ev)`; leading dimensions broadcast.
        attn_mask: bool (True: the key is visible) or added to the scores; broadcast to `(..., L, S)`.
            Default: None.
        dropout_p: probability of dropout on the weights. It is applied whenever it is not 0, so
            pass 0 in evaluation. Default: 0.
        is_causal: position i sees positions up to i; not with `attn_mask`. Default: False.
        scale: factor of the scores; 1 / sqrt(E) when left out.
        enable_gqa: key and value may have fewer heads; each is repeated. Default: False.

    Returns:
        `(..., L, Ev)`.

    Raises:
        RuntimeError: shapes that do not fit; `is_causal` together with a mask.

    Source: Vaswani et al., "Attention Is All You Need", 2017.

    >>> import pellucid as torch
    >>> q = torch.ones(1, 2, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 2, 4])
    """
    for i, t in enumerate((query, key, value)):
        if not isinstance(t, Tensor):
            require_tensor(t, "scaled_dot_product_attention", ("query", "key", "value")[i], i + 1)
    q, k, v, bias = query, key, value, attn_mask
    if not (q._array.dtype == k._array.dtype == v._array.dtype):
        raise OperationError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {q.dtype.c_name} key.dtype: {k.dtype.c_name} and "
            f"value.dtype: {v.dtype.c_name} instead."
        )
    if q._array.ndim < 2 or k._array.ndim < 2 or v._array.ndim < 2:
        raise OperationError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {q.ndim} key.dim: {k.ndim} and "
            f"value.dim: {v.ndim} instead."
        )
    if is_causal and attn_mask is not None:
        raise OperationError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    check_probability(dropout_p)
    if type(v._array) is np.ndarray and not (v._array.size and math.prod(q._array.shape[:-1])):
        # PyTorch checks no other size then
        nothing = v.new_zeros((*q._array.shape[:-1], v._array.shape[-1]))
        total = q.sum() + k.sum() + v.sum()
        return nothing + titled(total * 0, "MulBackward1", of=(total,), other=0)
    if enable_gqa and min(q.ndim, k.ndim) < 3:
        normalize_dim(-3, min(q.ndim, k.ndim))
    if enable_gqa and k._array.shape[-3] != q._array.shape[-3]:
        times = q._array.shape[-3] // k._array.shape[-3]
        k, v = k.repeat_interleave(times, -3), v.repeat_interleave(times, -3)
    factor = 1.0 / math.sqrt(q._array.shape[-1] or 1) if scale is None else scale
    if bias is not None and bias._array.dtype.kind == "b":
        kind = q._array.dtype
        bias = F.where(
            bias, wrap(constant(np.zeros((), kind))), wrap(constant(np.full((), -np.inf, kind)))
        )
    elif bias is not None and bias._array.dtype != q._array.dtype:
        raise OperationError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {bias.dtype} and  "
            f"query.dtype: {q.dtype} instead."
        )
    if bias is not None:
        rows = shapes.broadcast_shapes(q._array.shape[:-2], k._array.shape[:-2])
        shapes.broadcast_shapes(
            (*rows, q._array.shape[-2], k._array.shape[-2]), tuple(bias._array.shape)
        )
    one = dropout_p == 0.0 and q._array.shape[:-2] == k._array.shape[:-2] == v._array.shape[:-2]
    if one and hooked():  # hooks see PyTorch's operations
        made = (*q._array.shape[:-1], v._array.shape[-1])
        one = _in_one(q._array.shape, made, bias is not None and bias._rg)
    if one:
        out = attention_op.call(q, k, v, bias, causal=bool(is_causal), scale=float(factor))
        if out.ndim != 4 or q._array.shape != out._array.shape:
            return out
        if k is not key:  # heads were repeated
            out = titled(out, "ScaledDotProductFlashAttentionForCpu", of=(query, key, value))
        return in_order_of(out, q)
    return _by_products(
        q, k, v, bias, causal=is_causal, scale=float(factor), dropout_p=float(dropout_p)
    )
