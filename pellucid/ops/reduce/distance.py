"""Distances between vectors, covariances, correlations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import tracing
from ...core.display.packing import hooked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import named_type, titled, value_at
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.arranging import become, drawn, moved_before, node_before
from ...core.transforms.whole import one_node
from ...errors import (
    ArgumentTypeError,
    DtypeError,
    OperationError,
    ShapeError,
    UnsupportedError,
    type_name,
    warn,
)
from ...ir import Value
from ...shapes import broadcast_shapes
from .._rules import constant, require_tensor, values
from .._samples import cases


# ---- all pairs of two sets --------------------------------------------------------------------
def _distances(xp: Any, gap: Any, p: float) -> Any:
    size = xp.abs(gap)
    if p == 0:
        return (size != 0).sum(-1).astype(gap.dtype)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return xp.sqrt((size * size).sum(-1))
    if p == math.inf:
        return size.max(-1) if size.shape[-1] else size.sum(-1)
    return xp.power(xp.power(size, gap.dtype.type(p)).sum(-1), gap.dtype.type(1 / p))


def _by_products(xp: Any, x: Any, y: Any) -> Any:
    """Return Euclidean distances as the root of |x|^2 - 2 x.y + |y|^2: one matrix product, less
    exact for near points.
    """
    square = (x * x).sum(-1)[..., :, None] + (y * y).sum(-1)[..., None, :] - 2 * (x @ y.mT)
    return xp.sqrt(xp.maximum(square, 0))


# Process pairs in blocks of rows, so that no array (rows, columns, width) gets more elements than
# this.
_BLOCK = 1 << 22


def _cdist(xp: Any, x: Any, y: Any, *, p: float, by_products: bool) -> Any:
    if by_products:
        return _by_products(xp, x, y).astype(x.dtype, copy=False)
    rows, columns, width = x.shape[-2], y.shape[-2], x.shape[-1]
    out = xp.zeros((*x.shape[:-1], columns), x.dtype)
    step = max(1, _BLOCK // max(1, columns * width * math.prod(x.shape[:-2])))
    for start in range(0, rows, step):
        gap = x[..., start : start + step, None, :] - y[..., None, :, :]
        out[..., start : start + step, :] = _distances(xp, gap, p)
    return out


def _some(F: Any, mask: Any) -> bool:
    """Return whether any element of the mask is set. True while a rule is traced, as one may be set
    in another call.
    """
    return bool(mask.any()) if not F.raw or type(mask) is np.ndarray else True


def _pair_slopes(F: Any, g: Any, x: Any, y: Any, d: Any, p: float) -> Any:
    """Return g * d(distance)/d(x - y) for every pair, of shape (..., rows, columns, width)."""
    shape = (*x.shape[:-1], 1, x.shape[-1])
    gap = x.reshape(shape) - y.reshape((*y.shape[:-2], 1, *y.shape[-2:]))
    g, d = g.reshape((*g.shape, 1)), d.reshape((*d.shape, 1))
    if p == 1:
        return _signs(F, gap) * g
    zero = values(F, d) == 0
    safe = d + constant(F, zero.astype(values(F, d).dtype)) if _some(F, zero) else d
    if p == math.inf:
        # if a distance is NaN, every difference counts as the largest
        top = ~(abs(values(F, gap)) < values(F, d))
        return _signs(F, gap) * constant(F, (top & ~zero).astype(values(F, d).dtype)) * g
    if p == 2:
        return gap * (g / safe)
    none = (values(F, gap) == 0) | zero
    mask = none.astype(values(F, d).dtype)
    size = F.abs(gap) + constant(F, mask)
    return F.sgn(gap) * (F.pow(size, p - 1) * constant(F, 1 - mask)) * (g / F.pow(safe, p - 1))


def _signs(F: Any, gap: Any) -> Any:
    """Return -1, 0 or 1, and NaN for NaN."""
    whole = values(F, gap)
    unknown = whole != whole
    if not _some(F, unknown):
        return F.sgn(gap)
    return F.where(constant(F, unknown), float("nan"), F.sgn(gap))


def _cdist_left(F: Any, g: Any, input: Any, other: Any, out: Any, p: float) -> Any:
    if p == 0 or values(F, out).size == 0:
        return _none(F, input)
    if p == 2:
        # sum_j g_ij (x_i - y_j) / d_ij, as products of matrices.
        w = _weights(F, g, out)
        return input * F.sum(w, dim=(w.ndim - 1,), keepdim=True) - F.matmul(w, other)
    slopes = _pair_slopes(F, g, input, other, out, p)
    return F.sum(slopes, dim=(slopes.ndim - 2,), keepdim=False)


def _cdist_right(F: Any, g: Any, input: Any, other: Any, out: Any, p: float) -> Any:
    if p == 0 or values(F, out).size == 0:
        return _none(F, other)
    if p == 2:
        w = _weights(F, g, out).mT
        return other * F.sum(w, dim=(w.ndim - 1,), keepdim=True) - F.matmul(w, input)
    slopes = _pair_slopes(F, g, input, other, out, p)
    return -F.sum(slopes, dim=(slopes.ndim - 3,), keepdim=False)


def _none(F: Any, x: Any) -> Any:
    """Return a gradient of zeros, also for NaN, that stays connected to `x`."""
    made = F.abs(x) * 0
    unknown = values(F, made) != values(F, made)
    return F.where(constant(F, unknown), 0.0, made) if _some(F, unknown) else made


def _weights(F: Any, g: Any, d: Any) -> Any:
    zero = values(F, d) == 0
    if not _some(F, zero):
        return g / d
    mask = zero.astype(values(F, d).dtype)
    return (g * constant(F, 1 - mask)) / (d + constant(F, mask))


def _onnx_cdist(c: Any) -> Any:
    order = float(c.p["p"])
    d = c.emit(
        "Sub", c.emit("Unsqueeze", c[0], c.ints([-2])), c.emit("Unsqueeze", c[1], c.ints([-3]))
    )
    if order == 2:
        return c.reduce("ReduceL2", d, [-1], False)
    size = c.emit("Abs", d)
    if order == 1 or math.isinf(order):
        return c.reduce("ReduceSum" if order == 1 else "ReduceMax", size, [-1], False)
    if order == 0:
        raise c.refuse("with p=0")
    total = c.reduce("ReduceSum", c.emit("Pow", size, c.number(order)), [-1], False)
    return c.emit("Pow", total, c.number(1 / order))


def _expand_cdist(e: Any, x: Any) -> bool:
    y, out, p = e.i.inputs[1], e.i.outputs[0], e.i.params["p"]
    if not isinstance(y, Value) or not y.size or y.dtype != x.dtype or not e.floats(x):
        return False
    ndim = len(x.shape)
    if e.i.params["by_products"]:
        last = (ndim - 1,)
        xx, yy = (e.reduced("sum", e.new("mul", v, v), last) for v in (x, y))
        sums = e.new("add", xx, e.turned(yy), shape=out.shape)
        products = e.new("matmul", x, e.turned(y), shape=out.shape)
        squares = e.new("sub", sums, e.new("mul", products, 2.0))
        e.give("sqrt", e.new("maximum", squares, 0.0))
        return True
    shape = (*out.shape, x.shape[-1])
    away = e.new("sub", e.with_one(x, ndim - 1), e.with_one(y, ndim - 2), shape=shape)
    over: Any = {"dim": (ndim,), "keepdim": False}
    if p == 0:
        differs = e.new("ne", away, 0, dtype="bool")
        e.give("sum", e.new("cast", differs, dtype=x.dtype, shape=shape), **over)
    elif p == 2:
        e.give("sqrt", e.new("sum", e.new("mul", away, away), shape=out.shape, **over))
    elif p in (1, math.inf):
        e.give("sum" if p == 1 else "amax", e.new("abs", away), **over)
    else:
        powers = e.new("pow", e.new("abs", away), p)
        e.give("pow", e.new("sum", powers, shape=out.shape, **over), 1 / p)
    return True


defop(
    "cdist",
    "input other",
    expand=_expand_cdist,
    forward=_cdist,
    aval=lambda x, y, p, by_products: ((*x[0][:-1], y[0][-2]), x[1]),
    vjp={"input": _cdist_left, "other": _cdist_right},
    autocast="float32",
    onnx=_onnx_cdist,
    samples=cases(
        *(
            (((2, 3, 4), (2, 5, 4)), {"p": p, "by_products": p == 2})
            for p in (1.0, 1.5, 2.0, 3.0, math.inf)
        )
    ),
)

_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


@public()
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = _MODES[0]) -> Tensor:
    """The p-norm distances between all rows of two sets.

    Args:
        x1: `(..., n, d)`.
        x2: `(..., m, d)`; leading dimensions broadcast.
        p: order of the norm, 0 to inf.
        compute_mode: whether Euclidean distances may come from one matrix product: with more than
            25 rows (the default, "use_mm_for_euclid_dist_if_necessary"), always
            ("use_mm_for_euclid_dist") or never ("donot_use_mm_for_euclid_dist").

    >>> import pellucid as torch
    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    a, b = (
        require_tensor(x1, "cdist", "x1")._array.shape,
        require_tensor(x2, "cdist", "x2", 2)._array.shape,
    )
    for k, (t, shape) in enumerate(((x1, a), (x2, b)), 1):
        if not t.dtype.is_floating_point:
            raise DtypeError(
                f"cdist only supports floating-point dtypes, X{k} got: {t.dtype.scalar_type_name}"
            )
        if len(shape) < 2:
            raise ShapeError(f"cdist only supports at least 2D tensors, X{k} got: {len(shape)}D")
    if a[-1] != b[-1]:
        raise ShapeError(f"X1 and X2 must have the same number of columns. X1: {a[-1]} X2: {b[-1]}")
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise ArgumentTypeError(
            f"cdist(): argument 'p' (position 3) must be float, not {type_name(p)}"
        )
    if not p >= 0:
        raise OperationError("cdist only supports non-negative p values")
    lead = broadcast_shapes(a[:-2], b[:-2])
    x, y = (
        t if t._array.shape[:-2] == lead else F.expand(t, shape=(*lead, *t._array.shape[-2:]))
        for t in (x1, x2)
    )
    large = a[-2] > 25 or b[-2] > 25
    fast = p == 2 and (compute_mode == _MODES[1] or (compute_mode == _MODES[0] and large))
    if x.dtype is not y.dtype:
        if x._array.size and y._array.size:
            first, other = (y, x) if fast and lead else (x, y)
            if not fast and first.dtype.itemsize == 2:
                raise UnsupportedError(
                    f"\"cdist\" not implemented for '{first.dtype.scalar_type_name}'"
                )
            raise DtypeError(
                f"expected m1 and m2 to have the same dtype, but got: {x.dtype.c_name} != {y.dtype.c_name}"
                if fast and not lead
                else f"expected scalar type {first.dtype.scalar_type_name} but found {other.dtype.scalar_type_name}",
                op="cdist",
            )
        y = F.cast(y, dtype=x._array.dtype)  # only without elements do dtypes differ here
    made = F.cdist(x, y, p=float(p), by_products=fast)
    if fast and made._array.size and a[-1]:
        return drawn(made, "ViewBackward0", _draw_products, x1, x2)
    return made if x is x1 and y is x2 else titled(made, "Cdist", of=(x1, x2))


def _draw_products(node: Any, edges: tuple[Any, Any]) -> None:
    """Give the node PyTorch's nodes: distances of stacks of rows, with views around them."""
    shape = node.shape
    lead, batch = shape[:-2], math.prod(shape[:-2])
    inner = moved_before(node)
    inner.__class__ = named_type("EuclideanDistBackward0")
    if batch != 1:
        inner.shape = (batch, *shape[-2:])
        inner.inputs = tuple([_flattened(node, e, lead, 0.75 - k / 4) for k, e in enumerate(edges)])
        if inner.saved is not None:
            inner.saved = tuple([v.reshape(batch, *v.shape[-2:]) for v in inner.saved])
    else:
        inner.inputs = edges
    become(node, "view", (inner,), shape, node.dtype, shape=shape)


def _flattened(node: Any, edge: Any, lead: tuple[int, ...], place: float) -> Any:
    if edge is None:
        return None
    was, _ = value_at(edge)
    shape = (*lead, *was[-2:])
    edge = node_before(node, "expand", edge, shape, place, shape=shape)
    if math.prod(was) != math.prod(shape):
        edge = node_before(node, "clone", edge, shape, place - 0.0625)
    flat = (math.prod(lead), *was[-2:])
    return node_before(node, "view", edge, flat, place - 0.125, shape=flat)


@public(namespace="torch nn.functional")
@one_node("Pdist", "input", "input out")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances between all pairs of rows of a matrix, as a vector.

    Args:
        input: `(n, d)`.
        p: the order of the norm. Default: 2.

    Returns:
        `n (n - 1) / 2` distances, for the pairs (0, 1), (0, 2), ..., (1, 2), ...

    >>> import pellucid as torch
    >>> torch.pdist(torch.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    if require_tensor(input, "pdist")._array.ndim != 2:
        raise ShapeError(f"pdist only supports 2D tensors, got: {input._array.ndim}D")
    if not input.dtype.is_floating_point:
        raise DtypeError("pdist only supports floating-point dtypes")
    if input.dtype.itemsize == 2 and input.numel():
        raise UnsupportedError(f"\"pdist\" not implemented for '{input.dtype.scalar_type_name}'")
    if not p >= 0:
        raise OperationError("pdist only supports non-negative p values")
    n = input._array.shape[0]
    rows, columns = (
        make_tensor(tracing.constant(np.ascontiguousarray(places))) for places in _pairs(n)
    )
    first, second = input.index_select(0, rows), input.index_select(0, columns)
    if p == 0:  # the gradient is zeros, not None as for a norm
        pairs = (F.unsqueeze(x, dim=1) for x in (first, second))
        return titled(
            F.reshape(F.cdist(*pairs, p=0.0, by_products=False), shape=(-1,)), "Pdist", of=(input,)
        )
    gap = first - second
    return titled(F.vector_norm(gap, ord=float(p), dim=(1,), keepdim=False), "Pdist", of=(input,))


@tracing.independent
def _pairs(n: int) -> Any:
    """Return the first and the second members of all pairs of n things."""
    return np.triu_indices(n, 1)


# ---- covariance -------------------------------------------------------------------------------
@public(methods="=")
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of the rows of a matrix (variables), whose columns are observations; of one
    variable for a vector.

    Args:
        correction: subtracted from the number of observations.
        fweights: how often each observation counts, integers.
        aweights: how much each observation counts, floats.

    >>> import pellucid as torch
    >>> torch.cov(torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    ndim = require_tensor(input, "cov")._array.ndim
    if ndim > 2:
        raise ShapeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {ndim} dimensions"
        )
    if input._array.dtype.kind == "b":
        raise DtypeError("cov(): bool dtype is not supported for input")
    x: Any = input.reshape((1, -1)) if ndim < 2 else input
    n = x._array.shape[1]
    weights = _observation_weights(fweights, aweights, n)
    if weights is None:
        total: Any = n
        mean = (_over(x.sum(1), n) if n else x.sum(1)).unsqueeze(1)
        factor = n - correction
    else:
        total = weights.sum()
        tracing.check(_check_total, total._array)
        mean = ((x * weights).sum(1) / total).unsqueeze(1)
        if aweights is None:
            factor = total - correction
        elif correction == 0:
            factor = total
        else:
            squares = (weights * aweights).sum()
            factor = (
                total
                - titled(correction * squares, "MulBackward1", of=(squares,), other=correction)
                / total
            )
    if isinstance(factor, Tensor):
        factor = factor.clamp(min=0) if tracing.tracer() or factor._array <= 0 else factor
        tracing.check(_warn_of_freedom, factor._array)
    else:
        factor = max(factor, 0)
        _warn_of_freedom(factor)
    away = x - mean
    scaled = away if weights is None else away * weights
    product = F.matmul(away, F.conj(scaled.t()))
    made = _over(product, factor)
    return made.squeeze()


def _over(x: Any, count: Any) -> Any:
    """Return a quotient. PyTorch's node saves the count as a tensor."""
    tensor = hooked() and type(count) is int
    return x / (make_tensor(np.asarray(count)) if tensor else count)


def _check_total(total: np.ndarray) -> None:
    if total == 0:
        raise OperationError("cov(): weights sum to zero, can't be normalized")


def _warn_of_freedom(factor: Any) -> None:
    if factor <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
        )


def _check_not_negative(w: np.ndarray, name: str) -> None:
    if w.min() < 0:
        raise OperationError(f"cov(): {name} cannot be negative")


def _observation_weights(fweights: Any, aweights: Any, n: int) -> Any:
    weights = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        shape = require_tensor(w, "cov", name)._array.shape
        if len(shape) > 1:
            raise ShapeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {len(shape)} dimensions"
            )
        if name == "fweights" and not (w.dtype.is_integral and w._array.dtype.kind != "b"):
            raise DtypeError(
                "cov(): expected fweights to have integral dtype but got fweights with "
                + w.dtype.scalar_type_name
                + " dtype"
            )
        if name == "aweights" and not w.dtype.is_floating_point:
            raise DtypeError(
                "cov(): expected aweights to have floating point dtype but got aweights with "
                + w.dtype.scalar_type_name
                + " dtype"
            )
        if w._array.size != n:
            raise ShapeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{w._array.size} != {n}"
            )
        if w._array.size:
            if hooked():
                w.min()  # PyTorch computes and saves it
            tracing.check(_check_not_negative, w._array, name)
        weights = w if weights is None else weights * w
    return weights


@public(methods="=")
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of the rows of a matrix (variables), whose columns are
    observations.

    >>> import pellucid as torch
    >>> torch.corrcoef(torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if require_tensor(input, "corrcoef")._array.ndim > 2:
        raise ShapeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input._array.ndim} dimensions"
        )
    c = cov(input)
    if c._array.ndim == 0:
        return c / c
    spread = c.diagonal()
    spread = (F.real(spread) if c.dtype.is_complex else spread).sqrt()
    made = c / spread.view(-1, 1) / spread.view(1, -1)
    if made.dtype.is_complex:
        real, imag = F.real(made).clamp(-1, 1), made.imag.clamp(-1, 1)
        return F.complex(real, imag)
    return made.clamp(-1, 1)
