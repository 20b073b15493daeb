"""Batching rules of views, reductions, products and convolutions: physical tensors in, physical results out, batch first.

A rule gets (op, batch size, values, which of them are batched, parameters); None sends the operation to the loop over samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..primitive import TENSORS as F
from ..primitive import Primitive
from ..tensor import make_tensor
from .batching import RULES, NeedsLoop, aligned, spread

Values = list[Any]
Flags = list[bool]


def _shift(dim: Any, ndim: int) -> Any:
    """A dimension of a sample, or several, as dimensions of the batch."""
    if dim is None:
        return tuple(range(1, ndim + 1))
    if isinstance(dim, (tuple, list)):
        return tuple(_shift(d, ndim) for d in dim)
    return dim + 1 if dim >= 0 else dim


def _dims(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    """One tensor, dimensions by number: those counted from the left move by one."""
    x = values[0]
    ndim = x._array.ndim - 1
    if ndim == 0 and op.name not in ("unsqueeze", "sum", "mean", "prod"):
        return None
    moved = {k: _shift(v, ndim) if k in _DIM_WORDS else v for k, v in params.items()}
    if ndim == 0 and op.name != "unsqueeze":
        moved = {k: () if k == "dim" else v for k, v in params.items()}
        return F.clone(x)
    return op.call(x, **moved)


_DIM_WORDS = ("dim", "dims", "dim0", "dim1", "dim2")
for _name in (
    "all any amax amin var std max_dim min_dim median nanmedian mode kthvalue softmax log_softmax logsumexp logcumsumexp cumsum "
    "cumprod cummax cummin sort topk flip sum mean prod nansum select slice unsqueeze squeeze transpose diagonal diag_embed unfold "
    "unbind split count_nonzero vector_norm fft_c2c fft_r2c fft_c2r t"
).split():
    RULES[_name] = _dims


def _needs_dim(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    """argmax and argmin: over a dimension, or over all elements in their order."""
    x = values[0]
    ndim = x._array.ndim - 1
    dim = params.get("dim")
    if ndim == 0:
        return None
    if dim is None:
        if params.get("keepdim"):
            return None
        return op.call(F.reshape(x, shape=(size, -1)), **{**params, "dim": 1})
    return op.call(x, **{**params, "dim": _shift(dim, ndim)})


RULES["argmax"] = RULES["argmin"] = _needs_dim


def _permute(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    ndim = values[0]._array.ndim - 1
    return op.call(values[0], dims=(0, *[d % ndim + 1 for d in params["dims"]]))


RULES["permute"] = _permute
RULES["sum_all"] = lambda op, size, values, flags, params: (
    F.sum(values[0], dim=tuple(range(1, values[0]._array.ndim)), keepdim=False) if values[0]._array.ndim > 1 else F.clone(values[0])
)


def _shape(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    try:
        return op.call(values[0], shape=(size, *params["shape"]))
    except RuntimeError:
        if op.view:
            raise NeedsLoop(f"vmap: {op.name} of a batch with these strides") from None
        raise


RULES["view"] = RULES["reshape"] = RULES["unsafe_view"] = _shape


def _expand(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    x, shape = values[0], params["shape"]
    missing = len(shape) + 1 - x._array.ndim
    for _ in range(missing):
        x = F.unsqueeze(x, dim=1)
    return op.call(x, shape=(size, *shape))


def _sum_to(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    x, shape = values[0], params["shape"]
    extra = x._array.ndim - 1 - len(shape)
    if extra:
        x = F.sum(x, dim=tuple(range(1, 1 + extra)), keepdim=False)
    return op.call(x, shape=(size, *shape))


RULES["expand"], RULES["sum_to"] = _expand, _sum_to


def _trailing(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    """The operation looks at the last dimensions only and takes any number before them."""
    return op.call(*[v if f or v is None else spread(v, size) for v, f in zip(values, flags, strict=True)], **params)


for (
    _name
) in "tril triu cholesky eigh eig inverse det slogdet qr svd lu_factor matrix_exp view_as_real view_as_complex alias frexp".split():
    RULES[_name] = _trailing


def _attention(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    return None if values[3] is not None else _trailing(op, size, values, flags, params)


RULES["scaled_dot_product_attention"] = _attention
RULES["contiguous"] = lambda op, size, values, flags, params: F.clone(values[0])
RULES["masked_fill"] = lambda op, size, values, flags, params: op.call(*aligned(values, flags), **params)


def _join(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    whole = [v if f else spread(v, size) for v, f in zip(values, flags, strict=True)]
    return op.call(*whole, dim=params["dim"] + 1 if params["dim"] >= 0 else params["dim"])


RULES["cat"] = RULES["stack"] = _join


def _basic_index(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    return op.call(values[0], index=(slice(None), *params["index"]))


for _name in ("index_select_int", "index_slice", "index_unsqueeze", "index_alias"):
    RULES[_name] = _basic_index


def _index(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    """Index tensors, batched or not; one without dimensions takes its dimension away, as a number would."""
    spec = params["spec"]
    x, indices = values[0], values[1:]
    if any(i._array.dtype.kind == "b" for i in indices):
        return None
    picked = max(i._array.ndim - f for i, f in zip(indices, flags[1:], strict=True))
    if any(flags[1:]):
        indices = aligned_to(indices, flags[1:], picked)
    places = iter(v._array.ndim - f for v, f in zip(values[1:], flags[1:], strict=True))
    target = _front([here for here in spec if not here or next(places)])
    if flags[0]:
        # Samples and their own indices go together: the number of the sample is one more index.
        count = make_tensor(np.arange(size).reshape(size, *(1,) * picked))
        spec, indices = (True, *spec) if any(flags[1:]) else (False, *spec), [count, *indices] if any(flags[1:]) else indices
    r = op.call(x, *indices, spec=spec)
    wide = picked + any(flags[1:])
    at = _front(list(spec))
    block = list(range(at, at + wide))
    rest = [d for d in range(r._array.ndim) if d not in block]
    batch = [block.pop(0)] if any(flags[1:]) else [rest.pop(0)]
    order = (*batch, *rest[:target], *block, *rest[target:])
    return r if order == tuple(range(len(order))) else F.permute(r, dims=order)


def aligned_to(values: Values, flags: Flags, ndim: int) -> Values:
    """Batched tensors with dimensions of size 1 after the batch's, so that their samples have `ndim` dimensions."""
    return [
        F.reshape(v, shape=(v._array.shape[0], *(1,) * (ndim + 1 - v._array.ndim), *v._array.shape[1:])) if f else v
        for v, f in zip(values, flags, strict=True)
    ]


def _front(spec: list[bool]) -> int:
    """Where NumPy puts the dimensions that index tensors pick: at the first of them, in front of all if they stand apart."""
    if True not in spec:
        return 0
    first, last = spec.index(True), len(spec) - 1 - spec[::-1].index(True)
    return first if all(spec[first : last + 1]) else 0


RULES["index"] = _index


def _gather(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    x, index = [v if f else spread(v, size) for v, f in zip(values, flags, strict=True)]
    if x._array.ndim == 1 or index._array.ndim != x._array.ndim:
        return None
    return op.call(x, index, **{**params, "dim": _shift(params["dim"], x._array.ndim - 1)})


RULES["gather"] = RULES["take_along"] = _gather


def _matmul(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    (x, y), (bx, by) = values, flags
    nx, ny = x._array.ndim - bx, y._array.ndim - by
    if bx and nx == 1:
        x = F.unsqueeze(x, dim=1)
    elif nx == 1:
        x = F.unsqueeze(x, dim=0)
    if ny == 1:
        y = F.unsqueeze(y, dim=y._array.ndim)
    wide = max(x._array.ndim - bx, y._array.ndim - by)
    parts = []
    for v, f in ((x, bx), (y, by)):
        shape = v._array.shape
        missing = wide + 1 - v._array.ndim
        if f and missing:
            v = F.reshape(v, shape=(size, *(1,) * missing, *shape[1:]))
        parts.append(v)
    r = op.call(*parts)
    drop = ([r._array.ndim - 2] if nx == 1 else []) + ([r._array.ndim - 1] if ny == 1 else [])
    shape = [s for k, s in enumerate(r._array.shape) if k not in drop]
    return F.reshape(r, shape=tuple(shape)) if drop else r


RULES["matmul"] = _matmul


class _Call:
    """`op.call` of a function, for rules that call one another."""

    def __init__(self, call: Any) -> None:
        self.call = call


def _linear(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    x, w, b = values
    if flags == [True, False, False]:
        return op.call(x, w, b)
    if w._array.ndim - flags[1] != 2:
        return None
    matrix = F.transpose(w, dim0=w._array.ndim - 2, dim1=w._array.ndim - 1)
    product = flags[0] or flags[1]
    r = _matmul(_Call(F.matmul), size, [x, matrix], flags[:2], {}) if product else F.matmul(x, matrix)  # type: ignore[arg-type]
    return r if b is None else F.add(*aligned([r, b], [product, flags[2]]))


RULES["linear"] = _linear


def _layer_norm(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    return op.call(*values, **params) if flags == [True, False, False] else None


RULES["layer_norm"] = _layer_norm


# ---- images: the batch of samples joins the batch of images ----------------------------------
def _fold(x: Any) -> Any:
    shape = x._array.shape
    return F.reshape(x, shape=(shape[0] * shape[1], *shape[2:]))


def _unfold(x: Any, size: int) -> Any:
    shape = x._array.shape
    return F.reshape(x, shape=(size, shape[0] // size, *shape[1:]))


def _pool(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    if values[0]._array.ndim < 4:
        return None
    r = op.call(_fold(values[0]), **params)
    return tuple(_unfold(p, size) for p in r) if isinstance(r, tuple) else _unfold(r, size)


for _name in ("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool"):
    RULES[_name] = _pool


def _conv(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    x, w, b = values
    if flags == [True, False, False]:
        return _unfold(op.call(_fold(x), w, b, **params), size)
    # A weight for each sample: samples become groups of channels.
    x, w = (v if f else spread(v, size) for v, f in zip((x, w), flags[:2], strict=True))
    images, channels = x._array.shape[1:3]
    joined = F.reshape(F.transpose(x, dim0=0, dim1=1), shape=(images, size * channels, *x._array.shape[3:]))
    r = op.call(joined, _fold(w), None, **{**params, "groups": params["groups"] * size})
    shape = r._array.shape
    r = F.transpose(F.reshape(r, shape=(images, size, shape[1] // size, *shape[2:])), dim0=0, dim1=1)
    if b is None:
        return r
    b = b if flags[2] else spread(b, size)
    return r + F.reshape(b, shape=(size, 1, b._array.shape[1], *(1,) * (len(shape) - 2)))


RULES["conv"] = _conv


def _conv_input_grad(op: Primitive, size: int, values: Values, flags: Flags, params: dict[str, Any]) -> Any:
    if flags != [True, False]:
        return None
    shape = params["x_shape"]
    r = op.call(_fold(values[0]), values[1], **{**params, "x_shape": (size * shape[0], *shape[1:])})
    return _unfold(r, size)


RULES["conv_input_grad"] = _conv_input_grad
