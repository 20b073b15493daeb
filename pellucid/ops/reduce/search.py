"""Search and counting: searchsorted, bucketize, isin, histograms. None of them has a gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.meta import MetaArray
from ...arrays.native import REAL
from ...core import tracing
from ...core.bind import common_dtype, wrap
from ...core.public import public
from ...core.tensor import Tensor, make_tensor
from ...errors import (
    ArgumentTypeError,
    DtypeError,
    OperationError,
    ShapeError,
    UnsupportedError,
    type_name,
    warn_once,
)
from ...kernels.ordering import search
from .. import return_types
from .._numbers import fitting
from .._rules import is_plain, require_tensor
from ..pointwise.basic import underivable


# ---- places in an ordered sequence ------------------------------------------------------------
def _places(ordered: Any, values: Any, right: bool, kind: Any, common: Any) -> Any:
    ordered, values = _compared(ordered, common), _compared(values, common)
    made = search.places(ordered, values, right, kind)
    return _by_numpy(ordered, values, right).astype(kind) if made is None else made


# the dtypes that PyTorch searches, each with the wider dtype in which the search runs here
_SEARCHED = {
    dtypes.BY_NAME[name].numpy: np.dtype(wide)
    for name, wide in (
        ("float64", "f8"),
        ("float32", "f4"),
        ("float16", "f4"),
        ("bfloat16", "f4"),
        ("int64", "i8"),
        ("int32", "i4"),
        ("int16", "i4"),
        ("int8", "i4"),
        ("uint8", "i4"),
    )
}


def _compared(x: Any, common: Any) -> Any:
    """Round an array to the common dtype and convert it to the dtype in which it is searched."""
    wide = _SEARCHED.get(common, common)
    x = x if x.dtype is common else x.astype(common)
    return x if wide is common else x.astype(wide)


def _by_numpy(ordered: Any, values: Any, right: bool) -> Any:
    """Do all binary searches side by side. They compare the same elements as the kernel."""
    low = np.zeros(values.shape, np.int64)
    high = np.full(values.shape, ordered.shape[-1])
    for _ in range(ordered.shape[-1].bit_length()):
        middle = (low + high) >> 1
        searching = low < high
        at = np.where(searching, middle, 0)
        found = ordered[at] if ordered.ndim == 1 else np.take_along_axis(ordered, at, -1)
        after = found > values if right else found >= values
        low = np.where(searching & ~after, middle + 1, low)
        high = np.where(searching & after, middle, high)
    return low


def _common(ordered: Tensor, values: Any) -> Any:
    """Return the common dtype of boundaries and values."""
    kind = ordered._array.dtype
    if not (isinstance(values, Tensor) and values._array.dtype is kind):
        kind = common_dtype((ordered, values)).numpy
    if kind not in _SEARCHED and (not isinstance(values, Tensor) or values._array.size):
        name = dtypes.BY_NUMPY[kind].scalar_type_name
        raise UnsupportedError(f"\"searchsorted_out_cpu\" not implemented for '{name}'")
    return kind


def _refuse_complex(value: Any) -> None:
    if isinstance(value, complex):
        raise UnsupportedError("\"searchsorted_out_cpu\" not implemented for 'ComplexFloat'")


def _number(value: Any, common: Any) -> Any:
    """Return the array of a number, which wraps around if it exceeds the range of the dtype."""
    return tracing.constant(np.asarray(value).astype(common))


def _right(right: bool, side: str | None) -> bool:
    if side is None:
        return bool(right)
    if side not in ("left", "right"):
        raise OperationError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if right and side == "left":
        raise OperationError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return side == "right"


SEARCHED = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is "
    "True, but we got output tensor's dtype {given} and out_int32 flag is {int32}"
)


@public(out=SEARCHED)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each value would go in an ascending sequence (its last dimension) to keep it ordered.

    Args:
        sorted_sequence: `(n,)`, or `(..., n)` with the leading dimensions of `input`.
        input: a number or tensor.
        right: put equals after the values already there (also `side="right"`).
        sorter: indices that put `sorted_sequence` in order.

    >>> import pellucid as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    require_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    ordered = sorted_sequence._array
    number = not isinstance(input, Tensor)
    _refuse_complex(input)
    if number and not isinstance(input, (bool, int, float)):
        raise ArgumentTypeError(
            f"searchsorted(): argument 'input' (position 2) must be Tensor, not {type_name(input)}"
        )
    common = _common(sorted_sequence, input)
    values = _number(input, common) if number else input._array
    _warn_of_copies(("input value", values), ("boundary", ordered))
    number = values.ndim == 0
    if ordered.ndim == 0:
        raise ShapeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we "
            "got boundaries tensor dim(0) and input value's dim(0) numel(1)"
            if number
            else "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if number and ordered.ndim != 1:
        raise ShapeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({ordered.ndim}) and input value's dim(0) numel(1)"
        )
    if ordered.ndim != 1 and ordered.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(ordered.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    if sorter is not None:
        order = require_tensor(sorter, "searchsorted", "sorter")._array
        if order.shape != ordered.shape:
            raise ShapeError(
                f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {list(ordered.shape)}"
                f"and got sorter tensor {list(order.shape)}"
            )
        if sorter.dtype is not dtypes.int64:
            raise DtypeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.scalar_type_name}"
            )
        ordered = tracing.effect(_in_order, ordered, order)
    return _found(ordered, values, _right(right, side), out_int32, common)


_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _found(ordered: Any, values: Any, right: bool, out_int32: bool, common: Any) -> Tensor:
    """Return the positions of values among boundaries. If one argument is on the meta device, so is
    the result.
    """
    kind = np.int32 if out_int32 else np.int64
    if MetaArray in (type(ordered), type(values)):
        return make_tensor(MetaArray(values.shape, kind))
    return make_tensor(tracing.effect(_places, ordered, values, right, kind, common))


def _warn_of_copies(*named: tuple[str, Any]) -> None:
    for name, a in named:
        if type(a) is np.ndarray and not a.flags.c_contiguous:
            warn_once(
                f"torch.searchsorted(): {name} tensor is non-contiguous, this will lower the performance due to extra data copy when "
                f"converting non-contiguous tensor to contiguous, please use contiguous {name} tensor if possible. This message will "
                "only appear once per program."
            )


def _in_order(ordered: Any, order: Any) -> Any:
    if order.size and (order.min() < 0 or order.max() >= ordered.shape[-1]):
        raise OperationError("torch.searchsorted(): sorter index out of range")
    return np.take_along_axis(ordered, order, -1)


@public(out=SEARCHED)
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The index of the bucket that each value falls into.

    Args:
        input: any shape, or a number.
        boundaries: a vector in ascending order.
        out_int32: return int32 indices instead of int64. Default: False.
        right: a value equal to a boundary belongs to the bucket on its right. Default: False.

    >>> import pellucid as torch
    >>> torch.bucketize(torch.tensor([0, 4]), torch.tensor([1, 3, 5]))
    tensor([0, 2])
    """
    if is_plain(input) and is_plain(boundaries):  # fast path
        values, edges, kind = input._array, boundaries._array, boundaries._array.dtype
        if (
            kind in REAL
            and values.dtype is kind
            and edges.ndim == 1
            and edges.flags.c_contiguous
            and values.flags.c_contiguous
        ):
            return wrap(_places(edges, values, bool(right), _INT32 if out_int32 else _INT64, kind))
    edges = require_tensor(boundaries, "bucketize", "boundaries", 2)._array
    if edges.ndim != 1:
        raise ShapeError(f"boundaries tensor must be 1 dimension, but got dim({edges.ndim})")
    _refuse_complex(input)
    if not isinstance(input, (Tensor, bool, int, float)):
        raise ArgumentTypeError(
            f"bucketize(): argument 'input' (position 1) must be Tensor, not {type_name(input)}"
        )
    common = _common(boundaries, input)
    values = input._array if isinstance(input, Tensor) else _number(input, common)
    _warn_of_copies(("input value", values), ("boundary", edges))
    return _found(edges, values, bool(right), out_int32, common)


@public(out="same")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """True where an element occurs among `test_elements`.

    Args:
        elements, test_elements: tensors, or one of them a number.
        invert: True where it does not.

    >>> import pellucid as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    for position, (name, value) in enumerate(
        (("elements", elements), ("test_elements", test_elements)), 1
    ):
        if not isinstance(value, (Tensor, bool, int, float)):
            raise ArgumentTypeError(
                f"isin(): argument '{name}' (position {position}) must be Tensor, not {type_name(value)}"
            )
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise ArgumentTypeError("isin(): argument 'elements' (position 1) must be Tensor")
    for value in (elements, test_elements):
        kind = (
            common_dtype((value,))
            if isinstance(value, Tensor)
            else dtypes.bool_
            if isinstance(value, bool)
            else None
        )
        if kind is not None and (kind is dtypes.bool_ or kind.is_complex):
            raise DtypeError(
                f"Unsupported input type encountered for isin(): {kind.scalar_type_name}"
            )
    if isinstance(elements, Tensor) and elements.is_meta:
        return make_tensor(MetaArray(elements._array.shape, np.bool_))
    common = common_dtype((elements, test_elements)).numpy
    a, b = (
        x._array if isinstance(x, Tensor) else tracing.constant(np.asarray(x, common))
        for x in (elements, test_elements)
    )
    return make_tensor(tracing.effect(_occurs, a, b, common, bool(assume_unique), bool(invert)))


def _occurs(a: Any, b: Any, common: Any, assume_unique: bool, invert: bool) -> Any:
    found = np.isin(
        a.astype(common),
        b.astype(common),
        assume_unique=assume_unique and a.ndim == 1,
        invert=invert,
    )
    return np.asarray(found).reshape(a.shape)


def _held(t: Tensor, name: str) -> Any:
    """Return the tensor's array. Refuse meta tensors, whose values would be needed."""
    if t.is_meta:
        raise UnsupportedError(f"{name} on a meta tensor: it reads the values")
    return t._array


# ---- counts -----------------------------------------------------------------------------------
@public(methods="=")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each of 0, 1, 2, ... occurs.

    Args:
        input: a vector of non-negative integers.
        weights: numbers to add instead of 1, in the shape of `input`. Default: None.
        minlength: the smallest length of the result. Default: 0.

    >>> import pellucid as torch
    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    x = _held(require_tensor(input, "bincount"), "bincount")
    if not (input.dtype.is_integral and x.dtype.kind in "iu"):
        raise UnsupportedError(
            f"\"bincount_cpu\" not implemented for '{input.dtype.scalar_type_name}'"
        )
    if minlength < 0:
        raise OperationError("minlength should be >= 0")
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise OperationError("bincount only supports 1-d non-negative integral inputs.")
    if x.size and int(x.max()) >= 1 << 59:
        raise OperationError(
            f"Storage size calculation overflowed with sizes=[{max(int(x.max()) + 1, minlength)}]"
        )
    if weights is None:
        return make_tensor(np.bincount(x, minlength=minlength).astype(np.int64))
    w = require_tensor(weights, "bincount", "weights", 2)._array
    if not x.size:
        return make_tensor(np.zeros(minlength, np.int64))
    if w.shape != x.shape:
        raise ShapeError("weights should be 1-d and have the same length as input")
    kind: Any = np.float32 if w.dtype == np.float32 else np.float64
    kind = kind if x.size else np.int64
    counts = make_tensor(np.bincount(x, w, minlength).astype(kind))
    made: Tensor = underivable(counts, (weights,), "aten::bincount")
    return made


@public(
    methods="=",
    out="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {wants} and hist {got}",
)
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Histogram: count the elements in each of `bins` equal intervals between `min` and `max`.

    Args:
        input: any shape, a real dtype.
        bins: how many intervals. Default: 100.
        min, max: the range. Default: 0 for both, which means the range of the data.

    >>> import pellucid as torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    x = _held(require_tensor(input, "histc"), "histc")
    if x.dtype.kind in "bc":
        kernel = "aminmax_cpu" if x.dtype.kind in "cW" else "linspace_cpu"
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'")
    if bins <= 0:
        raise OperationError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    fitting(min, input.dtype), fitting(max, input.dtype)
    if input.dtype.is_integral:
        raise UnsupportedError(
            f"\"histogram_cpu\" not implemented for '{input.dtype.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    return make_tensor(tracing.effect(_bars, x, bins, float(min), float(max)))


def _bars(x: Any, bins: int, low: float, high: float) -> Any:
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OperationError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise OperationError("torch.histc: max must be larger than min")
    flat = x.reshape(-1)
    flat = flat[(flat >= low) & (flat <= high)]
    if x.dtype.kind == "f":
        kind = x.dtype.type
        place = ((flat - kind(low)) * kind(bins) / (kind(high) - kind(low))).astype(np.int64)
    else:
        place = ((flat.astype(np.float64) - low) * bins / (high - low)).astype(np.int64)
    place = np.minimum(np.maximum(place, 0), bins - 1)
    return np.bincount(place, minlength=bins).astype(x.dtype)


_histogram = return_types.make("histogram", "hist bin_edges")
_histogramdd = return_types.make("histogramdd", "hist bin_edges")


def _edges(x: Any, bins: Any, low_high: Any, name: str, dim: int = 0) -> Any:
    """Return the edges of the bins: given ones, or those of `bins` equal parts of a range (by
    default that of the data).
    """
    if isinstance(bins, Tensor):
        return bins._array
    if bins <= 0:
        raise OperationError(
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}"
        )
    return tracing.effect(_parts_of_range, x, bins, low_high, x.dtype, dim)


def _parts_of_range(x: Any, bins: int, low_high: Any, kind: Any, dim: int) -> Any:
    if low_high is not None:
        low, high = low_high
    elif x.size:
        low, high = float(x.min()), float(x.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise OperationError(
            f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise OperationError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    # Compute in the element type, from both ends towards the middle, as PyTorch's linspace does.
    step, k = (
        kind.type((kind.type(high) - kind.type(low)) / kind.type(bins)),
        np.arange(bins + 1).astype(kind),
    )
    return np.where(
        k < (bins + 1) // 2,
        kind.type(low) + step * k,
        kind.type(high) - step * (kind.type(bins) - k),
    ).astype(kind)


def _count(x: Any, d: int, edges: list[Any], weight: Any, density: bool) -> Any:
    """Return the sum of the weights (each 1 if None) of the points `(..., d)` in each cell of the
    grid of edges.
    """
    points = x.reshape(-1, d)
    weight = None if weight is None else weight.reshape(-1)
    kind = points.dtype
    shape = tuple(len(e) - 1 for e in edges)
    inside = np.ones(len(points), bool)
    cell = np.zeros(len(points), np.int64)
    for d, e in enumerate(edges):
        place = np.searchsorted(e, points[:, d], "right") - 1
        place[points[:, d] == e[-1]] = len(e) - 2  # the last bin includes its upper edge
        inside &= (
            (points[:, d] >= e[0]) & (points[:, d] <= e[-1]) & (place >= 0) & (place < shape[d])
        )
        cell = cell * shape[d] + place
    total = (
        np.bincount(cell[inside], None if weight is None else weight[inside], math.prod(shape))
        .reshape(shape)
        .astype(kind)
    )
    if density:
        total = total / total.sum()
        for d, e in enumerate(edges):
            total = total / np.diff(e).reshape([-1 if k == d else 1 for k in range(len(edges))])
    return total.astype(kind)


def _weights(weight: Any, shape: tuple[int, ...], kind: Any, name: str, inner: int = 1) -> Any:
    if weight is None:
        return None
    if require_tensor(weight, name, "weight").dtype is not kind:
        raise DtypeError(
            f"torch.{name}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, "
            f"but got input({kind.c_name}), and weight({weight.dtype.c_name})"
        )
    if weight._array.shape != shape:
        raise ShapeError(
            f"torch.{name}: if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {[*shape, inner]} and weight with shape {list(weight._array.shape)}"
        )
    return weight._array


def _fits_edges(input: Tensor, edges: list[Tensor]) -> None:
    """Check bins that are given by edges: a vector of the input's dtype for each dimension."""
    for dim, one in enumerate(edges):
        if one.dtype is not input.dtype:
            raise DtypeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
                f"dtype {input.dtype.c_name} and bins for dimension {dim} with dtype {one.dtype.c_name}"
            )
        if one._array.ndim != 1:
            raise ShapeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {one._array.ndim} dimensions in the bins tensor "
                f"for dimension {dim}"
            )


def _floats(input: Any, name: str) -> None:
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise UnsupportedError(
            f"\"histogramdd\" not implemented for '{input.dtype.scalar_type_name}'"
        )


@public(
    methods="=",
    out=(
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {wants} and hist {got}",
        "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {wants} and bin_edges {got} for dimension 0",
    ),
)
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many elements lie in each bin, as (hist, bin_edges); the last bin includes its upper
    edge.

    Args:
        bins: a number of equal bins, or their ascending edges as a vector. Default: 100.
        range: (low, high) for equal bins; the data's own by default.
        weight: count each element this much.
        density: divide so that the integral is 1.

    >>> import pellucid as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 4.0)).hist
    tensor([2., 1.])
    """
    x = _held(require_tensor(input, "histogram"), "histogram")
    if isinstance(bins, Tensor):
        _fits_edges(input, [bins])
    _floats(input, "histogram")
    weights = _weights(weight, x.shape, input.dtype, "histogramdd")
    if range is not None and len(range) != 2:
        raise ShapeError(f"torch.histogramdd: range should have 2 elements, but got {len(range)}")
    edges = _edges(x, bins, range, "histogram")
    made = tracing.effect(_count, x, 1, [edges], weights, bool(density))
    hist, places = (
        underivable(make_tensor(m), (input, bins, weight), "aten::histogram") for m in (made, edges)
    )
    return _histogram(hist, places)


@public()
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many points of `(..., d)` lie in each cell of a d-dimensional grid, as (hist, bin_edges).

    Args:
        bins: one number for all dimensions, d numbers, or d vectors of ascending edges.
        range: low and high for each dimension, 2 d numbers.
        weight, density: as for `histogram`.

    >>> import pellucid as torch
    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    x = _held(require_tensor(input, "histogramdd"), "histogramdd")
    if x.ndim < 2:
        raise ShapeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    d = x.shape[-1]
    if not isinstance(bins, (tuple, list)):
        if (count := int(bins)) < 0:
            raise OperationError("number of steps must be non-negative")
        bins = [count] * d
    each = list(bins)
    given = [edges for edges in each if isinstance(edges, Tensor)]
    if len(each) != d:
        raise ShapeError(
            f"torch.histogramdd: expected {d} sequences of bin edges for a {d}-dimensional histogram but got {len(each)}"
            if given
            else "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    _fits_edges(input, given)
    _floats(input, "histogramdd")
    if not given and range is not None and len(range) != 2 * d:
        raise ShapeError(
            f"torch.histogramdd: for a {d}-dimensional histogram range should have {2 * d} elements, but got {len(range)}"
        )
    pairs = [
        None if given or range is None else (range[2 * k], range[2 * k + 1]) for k in np.arange(d)
    ]
    edges = [_edges(x[..., k], b, pairs[k], "histogramdd", k) for k, b in enumerate(each)]
    weights = _weights(weight, x.shape[:-1], input.dtype, "histogramdd", d)
    made = tracing.effect(_count, x, d, edges, weights, bool(density))
    kernel = "aten::_histogramdd_from_bin_" + ("tensors" if isinstance(each[0], Tensor) else "cts")
    sources = (input, *each, weight)
    return _histogramdd(
        underivable(make_tensor(made), sources, kernel),
        tuple(underivable(make_tensor(e), sources, kernel) for e in edges),
    )
