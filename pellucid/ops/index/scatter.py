"""Writing element by element along one dimension: scatter, scatter_add, scatter_reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ... import config, shapes
from ...arrays.formulas import numbered
from ...arrays.native import kernels, native_code_runs
from ...arrays.scatter import FEW, KERNEL_SIZE, add_rows, few_places, scatter_along
from ...core import tracing
from ...core.bind import wrap
from ...core.inplace import check_overlap, check_read, check_writable, overwrite, write
from ...core.primitive import TENSORS as F
from ...core.primitive import Primitive, defop
from ...core.public import METHODS, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import DtypeError, OperationError, ShapeError, UnsupportedError, warn_once
from .._numbers import number_array
from .._rules import is_direct, is_plain, require_tensor
from .._samples import Sample
from ..shape.broadcast import broadcast_to
from ._bounds import bounded, index_of, inside, places, vectors
from ._writes import both_forms, copying, keywords, wrote_in_order


def _front(a: Any, shape: tuple[int, ...]) -> Any:
    """Cut each dimension of `a` to the sizes in `shape`."""
    return a if a.shape == shape else a[tuple(slice(n) for n in shape)]


# ---- scatter ---------------------------------------------------------------------------------
def _flat(out: ndarray) -> tuple[ndarray, bool]:
    """Return the array in one dimension, and whether that is a copy."""
    return (
        (out.reshape(-1), False)
        if out.flags.c_contiguous
        else (np.ascontiguousarray(out).reshape(-1), True)
    )


def _writer(write_places: Callable[..., None]) -> Callable[..., None]:
    """Return the in-place rule for a function that writes values to flat places."""

    def rule(xp: Any, out: Any, index: Any, src: Any, *, dim: int, **params: Any) -> None:
        if src.ndim and src.ndim == index.ndim:
            src = _front(src, index.shape)
        quick = write_places is not _reduce_places
        try:
            if quick and scatter_along(out, index, src, dim, write_places is _add_places):
                return
        except IndexError:
            quick = False  # `bounded` raises it with PyTorch's message
        few = few_places(out, index, src, dim, KERNEL_SIZE if write_places is _set_places else FEW)
        if few is not None and index.size and inside(index, out.shape[dim]):
            write_places(out.reshape(-1), few, src, **params)
            return
        target, index, src = vectors(out, index, src)
        if index.size == 0:
            return
        src = (
            _front(src, index.shape)
            if src.size > 1 or src.ndim == index.ndim and src.shape == index.shape
            else src
        )
        values = np.broadcast_to(src, index.shape)
        try:
            if quick and scatter_along(target, index, values, dim, write_places is _add_places):
                return
        except IndexError:
            pass
        bounded(index, target.shape[dim], dim)
        flat, copied = _flat(target)
        write_places(flat, places(target.shape, index, dim), values, **params)
        if copied:
            target[...] = flat.reshape(target.shape)

    return numbered(rule, "dim", *keywords(write_places))


def _add_places(flat: ndarray, at: ndarray, values: Any) -> None:
    if at.size <= 64:
        np.add.at(flat, at, values)
        return
    add_rows(flat[:, None], at.reshape(-1), np.ascontiguousarray(values).reshape(-1, 1))


def _set_places(flat: ndarray, at: ndarray, values: Any) -> None:
    flat[at] = values


scatter_add_rule, scatter_rule = _writer(_add_places), _writer(_set_places)


def _pad_like(F: Any, g: Any, shape: Any) -> Any:
    """Return the gradient of the part of `src` that was read, padded with zeros to the whole."""
    if tuple(g.shape) == tuple(shape):
        return g
    if not shape:
        return F.reshape(F.sum_to(g, shape=(1,) * g.ndim), shape=())
    pad = [
        n
        for own, full in zip(reversed(g.shape), reversed(shape), strict=True)
        for n in (0, full - own)
    ]
    return F.constant_pad_nd(g, pad=tuple(pad), value=0)


def _scatter_add_check(x: Any, index: Any, src: Any, *, dim: int) -> None:
    bounded(index, x.shape[dim] if x.ndim else 1, dim)


def _onnx_scatter(c: Any, reduction: str | None = None) -> Any:
    if set(c.p) - {"dim"}:
        raise c.refuse("with a reduction")
    if reduction and c.graph.opset < 16:
        raise c.refuse("needs opset 16")
    return c.emit("ScatterElements", c[0], c[1], c[2], axis=int(c.p["dim"]), reduction=reduction)


scatter_add_op = defop(
    "scatter_add",
    "input index src",
    forward=copying(scatter_add_rule),
    inplace=scatter_add_rule,
    aval=lambda x, index, src, dim: x,
    vjp={
        "input": lambda g: g,
        "src": lambda F, g, index, dim, src_shape: _pad_like(
            F, F.gather(g, index, dim=dim), src_shape
        ),
    },
    check=_scatter_add_check,
    onnx=lambda c: _onnx_scatter(c, "add"),
    host=True,
    samples=lambda rng: [
        Sample((rng.random((3, 4)), np.array([[2, 0], [2, 1]]), rng.random((3, 2))), {"dim": 0}),
        Sample((rng.random((3, 4)), np.array([[3, 3, 0]]), rng.random((1, 3))), {"dim": 1}),
    ],
)


def _zeroed(F: Any, g: Any, index: Any, dim: int, kind: Any) -> Any:
    return F.scatter(g, index, F.full(shape=(), value=0, dtype=kind), dim=dim)


scatter_op = defop(
    "scatter",
    "input index src",
    forward=copying(scatter_rule),
    inplace=scatter_rule,
    aval=lambda x, index, src, dim: x,
    vjp={
        "input": lambda F, g, index, dim, input_dtype: _zeroed(F, g, index, dim, input_dtype),
        "src": lambda F, g, index, dim, src_shape: _pad_like(
            F, F.gather(g, index, dim=dim), src_shape
        ),
    },
    batch="dims",
    onnx=_onnx_scatter,
    host=True,
    samples=lambda rng: [
        Sample((rng.random((3, 4)), np.array([[2, 0], [1, 1]]), rng.random((3, 2))), {"dim": 0}),
        Sample((rng.random((3, 4)), np.array([[3, 1, 0]]), rng.random((1, 3))), {"dim": 1}),
    ],
)


def _fits(x: Tensor, index: Tensor, src: Tensor | None, dim: int) -> None:
    a, b = x._array.shape, index._array.shape
    if index._array.size == 0 or a == b and (src is None or src._array.shape == a):
        return
    if len(a or (1,)) != len(b or (1,)):
        raise ShapeError("Index tensor must have the same number of dimensions as self tensor")
    bad = any(d != dim and n > m for d, (m, n) in enumerate(zip(a or (1,), b or (1,), strict=True)))
    if src is None:
        if bad:
            raise ShapeError(
                f"Expected index {shapes.text(b)} to be no larger than self {shapes.text(a)} apart from dimension {dim}"
            )
        return
    c = src._array.shape
    if len(c or (1,)) != len(b or (1,)):
        raise ShapeError("Index tensor must have the same number of dimensions as src tensor")
    if bad or any(n > m for m, n in zip(c or (1,), b or (1,), strict=True)):
        raise ShapeError(
            f"Expected index {shapes.text(b)} to be no larger than self {shapes.text(a)} apart from dimension {dim} and to be no larger "
            f"size than src {shapes.text(c)}"
        )


def _source(x: Tensor, index: Tensor, src: Any, dim: int) -> Tensor:
    """Return the source of a scatter as a tensor; a number becomes a scalar tensor."""
    if not isinstance(src, Tensor):
        _fits(x, index, None, dim)
        return wrap(number_array(src, x._array.dtype))
    if src._array.dtype != x._array.dtype:
        raise DtypeError(
            "scatter(): Expected self.dtype to be equal to src.dtype",
            hint="convert the source: src.to(x.dtype)",
        )
    _fits(x, index, src, dim)
    return src


def _scatter_arguments(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> tuple[Primitive, tuple[Any, ...], dict[str, Any]]:
    dim, index = index_of(input, dim, index, "scatter")
    source = _source(input, index, value if src is None else src, dim)
    if reduce is None:
        return scatter_op, (index, source), {"dim": dim}
    if isinstance(src, Tensor):
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. "
            "Use torch.scatter_reduce instead for more reduction options."
        )
    if reduce == "add":
        return scatter_add_op, (index, source), {"dim": dim}
    if reduce != "multiply":
        raise OperationError("reduce argument must be either add or multiply.")
    if not source._array.ndim and index._array.ndim:
        source = broadcast_to(source, index._array.shape)
    return scatter_reduce_op, (index, source), {"dim": dim, "reduce": "prod", "include_self": True}


def _of_few(input: Any, dim: Any, index: Any, src: Any, add: bool) -> Tensor | None:
    """Fast path of `scatter` and `scatter_add` of few numbers of one shape that want no gradient;
    None for other calls.
    """
    if not (is_direct(input) and is_direct(src) and is_plain(index) and type(dim) is int):
        return None
    a, places, b = input._array, index._array, src._array
    if (
        not 0 < places.size <= FEW
        or not -a.ndim <= dim < a.ndim
        or not a.flags.c_contiguous
        or not config.kernels
        or not native_code_runs()
    ):
        return None
    if not a.shape == places.shape == b.shape:
        return None
    out = a.copy()
    try:
        done = kernels.indexing.along.scatter_along(out, places, b, add, dim % a.ndim)
    except IndexError:  # the operation raises it with PyTorch's message
        return None
    return wrap(out) if done else None


@public(methods="=", out="apart: same")
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """Copy `input` and write elements by index: `out[index[i][j]][j] = src[i][j]` for dim 0, and
    likewise for other dimensions.

    If an index occurs twice, only one of its elements is kept. `scatter_add` and `scatter_reduce`
    combine them.

    Args:
        input: any shape and dtype. `Tensor.scatter_` changes it in place.
        dim: the dimension that is indexed.
        index: int32 or int64, with as many dimensions as `input`.
        src: a tensor of the same dtype, at least as large as `index`, or a number (also as
            `value`).
        reduce: "add" or "multiply" instead of replacing. Default: None.

    Raises:
        RuntimeError: shapes that do not fit, or an index out of range.

    >>> import pellucid as torch
    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    if reduce is None and (few := _of_few(input, dim, index, src, False)) is not None:
        return few
    op, others, params = _scatter_arguments(
        require_tensor(input, "scatter"), dim, index, src, value=value, reduce=reduce
    )
    made = op.call(input, *others, **params)
    number = reduce is None and not isinstance(value if src is None else src, Tensor)
    return titled(made, "ScatterBackward1", of=(input,), dim=dim, index=index) if number else made


def scatter_(
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: str | None = None,
) -> Tensor:
    """In-place version of :func:`scatter`."""
    check_writable(self, "scatter_")
    op, others, params = _scatter_arguments(self, dim, index, src, value=value, reduce=reduce)
    check_read(self, others, exact=True)
    if op is scatter_reduce_op:
        return overwrite(self, op.call(self, *others, **params), "scatter_")
    a = self._array
    if type(a) is ndarray:
        check_overlap(a)
        tracing.check(
            bounded,
            index._array,
            a.shape[params["dim"]] if a.ndim else 1,
            params["dim"],
            again=True,
        )
        others = tuple(F.clone(t) if np.may_share_memory(a, t._array) else t for t in others)
    if wrote_in_order(self, "scatter_", op, others, params):
        return self
    return write(self, "scatter_", op, others, params)


METHODS["scatter_"] = scatter_


def _prepare_scatter_add(
    input: Tensor, dim: int, index: Tensor, src: Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copy `input` and add elements by index: `out[index[i][j]][j] += src[i][j]` for dim 0, and
    likewise for other dimensions.

    Args:
        input: any shape and dtype. `Tensor.scatter_add_` changes it in place.
        dim: the dimension that is indexed.
        index: int32 or int64, with as many dimensions as `input`.
        src: a tensor of the same dtype, at least as large as `index`.

    >>> import pellucid as torch
    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([2, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([2., 0., 4.])
    """
    dim, index = index_of(input, dim, index, "scatter_add")
    return (index, _source(input, index, require_tensor(src, "scatter_add", "src", 4), dim)), {
        "dim": dim
    }


both_forms(
    "scatter_add",
    scatter_add_op,
    _prepare_scatter_add,
    few=lambda *given: _of_few(*given, True) if len(given) == 4 else None,
)


# ---- scatter_reduce --------------------------------------------------------------------------
_UFUNC = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _neutral(reduce: str, kind: Any) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind in "iu":
        bounds = np.iinfo(kind)
        return bounds.min if reduce == "amax" else bounds.max
    if kind.kind == "b":
        return reduce == "amin"
    return -np.inf if reduce == "amax" else np.inf


def _reduce_places(
    flat: ndarray, at: ndarray, values: Any, *, reduce: str, include_self: bool
) -> None:
    at, values = at.reshape(-1), np.ascontiguousarray(values).reshape(-1)
    if not include_self:
        flat[at] = _neutral(reduce, flat.dtype)
    if reduce not in ("sum", "mean"):
        _UFUNC[reduce].at(flat, at, values)
        return
    _add_places(flat, at, values)
    if reduce == "mean":
        counts = np.bincount(at, minlength=flat.size) + (1 if include_self else 0)
        np.maximum(counts, 1, out=counts)
        flat[...] = (
            flat // counts if flat.dtype.kind in "iu" else (flat / counts.astype(flat.real.dtype))
        )


scatter_reduce_rule = _writer(_reduce_places)


def _scatter_reduce_grad(
    F: Any,
    g: Any,
    input: Any,
    index: Any,
    src: Any,
    out: Any,
    dim: int,
    reduce: str,
    include_self: bool,
    input_dtype: Any,
    src_shape: Any,
    needs: Any,
) -> Any:
    """Return the gradients, by reduction. For products, zeros among the factors are counted instead
    of divided by.
    """
    picked = src
    if tuple(src.shape) != tuple(index.shape):
        for d, n in enumerate(index.shape):
            if src.shape[d] != n:
                picked = F.slice(picked, dim=d, start=0, end=n, step=1)

    def number(mask: Any) -> Any:
        return F.cast(mask, dtype=input_dtype)

    def gather(x: Any) -> Any:
        return F.gather(x, index, dim=dim)

    def sums(start: Any, values: Any) -> Any:
        return F.scatter_add(start, index, values, dim=dim)

    def full(shape: Any, value: Any) -> Any:
        return F.full(shape=tuple(shape), value=value, dtype=input_dtype)

    def reduced(start: Any, values: Any) -> Any:
        return F.scatter_reduce(
            start, index, values, dim=dim, reduce=reduce, include_self=include_self
        )

    own = part = None
    if reduce == "sum":
        own, part = g, gather(g)
    elif reduce == "mean":
        count = sums(full(input.shape, 1 if include_self else 0), full(index.shape, 1))
        count = F.where(count == 0, full((), 1), count)
        own = g / count
        part = gather(own)
    elif reduce == "prod":
        if needs[0]:
            start = F.where(input == 0, full((), 1), input)
            own = g * reduced(start, picked) / start
        if needs[2]:
            zero = picked == 0
            zeros = gather(sums(full(input.shape, 0), number(zero)))
            single = zero & (zeros == 1)
            one = full((), 1)
            without = gather(g * reduced(input, F.where(single, one, picked)))
            part = F.where(single, without, gather(g * out) / F.where(zero, one, picked))
    else:
        mine, theirs = number(input == out), number(picked == gather(out))
        # as in PyTorch, the input's own value counts even without `include_self`, and NaN equals
        # nothing
        shared = g / sums(mine, theirs)
        own, part = mine * shared, theirs * gather(shared)
    if not include_self and needs[0]:
        own = _zeroed(F, own, index, dim, input_dtype)
    return own if needs[0] else None, None, _pad_like(F, part, src_shape) if needs[2] else None


def _onnx_scatter_reduce(c: Any) -> Any:
    how = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}.get(c.p["reduce"])
    if (
        how is None
        or not c.p["include_self"]
        or c.graph.opset < (16 if how in ("add", "mul") else 18)
    ):
        raise c.refuse(
            f"with {c.p['reduce']!r}, include_self={c.p['include_self']} in opset {c.graph.opset}"
        )
    return c.emit("ScatterElements", c[0], c[1], c[2], axis=int(c.p["dim"]), reduction=how)


scatter_reduce_op = defop(
    "scatter_reduce",
    "input index src",
    forward=copying(scatter_reduce_rule),
    aval=lambda x, index, src, dim, reduce, include_self: x,
    vjp=_scatter_reduce_grad,
    check=lambda x, index, src, *, dim, reduce, include_self: bounded(
        index, x.shape[dim] if x.ndim else 1, dim
    ),
    onnx=_onnx_scatter_reduce,
    variant=lambda n: ("ScatterReduceBackward0", (0, 2)),
    host=True,
    samples=lambda rng: [
        Sample(
            (rng.random((3, 4)), np.array([[2, 0], [2, 1]]), rng.random((2, 2))),
            {"dim": 0, "reduce": how, "include_self": whole},
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
        for whole in (True, False)
    ],
)


def _prepare_scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A copy in which the values of `src` that `index` sends to one place are reduced, together
    with what was there.

    Args:
        reduce: "sum", "prod", "mean", "amax" ("max") or "amin" ("min").
        include_self: whether the old value is included.

    >>> import pellucid as torch
    >>> torch.scatter_reduce(torch.ones(2), 0, torch.tensor([0, 0]), torch.tensor([5.0, 7.0]), "amax")
    tensor([7., 1.])
    """
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise OperationError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    dim, index = index_of(input, dim, index, "scatter_reduce")
    if (
        input._array.dtype.kind in "cW"
        and reduce in ("amax", "amin")
        or (input._array.dtype.kind == "b" and reduce == "mean")
    ):
        raise UnsupportedError(
            f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{input.dtype.scalar_type_name}'"
        )
    source = _source(input, index, require_tensor(src, "scatter_reduce", "src", 4), dim)
    return (index, source), {"dim": dim, "reduce": reduce, "include_self": include_self}


both_forms("scatter_reduce", scatter_reduce_op, _prepare_scatter_reduce, direct=False)
