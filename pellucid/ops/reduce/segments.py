"""Reductions of consecutive segments of a dimension (`torch.segment_reduce`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.numpy_cpu import namespace_of
from ...core.bind import wrap
from ...core.primitive import defop
from ...core.public import FUNCTIONS, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.whole import one_node
from ...errors import OperationError, UnsupportedError
from .._rules import require_tensor, values
from .._samples import Sample
from ..pointwise import compare

# the result for an empty segment
_EMPTY = {"sum": 0.0, "mean": math.nan, "prod": 1.0, "amax": -math.inf, "amin": math.inf}


_FOLDS = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _fold_rule(xp: Any, x: np.ndarray, *, counts: Any, reduce: str, initial: Any) -> np.ndarray:
    """The product or an extreme of each segment; `x` holds the segments one after the other."""
    counts = np.asarray(counts, np.int64)
    start = _EMPTY[reduce] if initial is None else initial
    out = np.full((counts.size, *x.shape[1:]), start, x.dtype)
    there = counts > 0
    if there.any():
        firsts = (np.cumsum(counts) - counts)[there]
        if initial is not None:  # a product is rounded in this order
            x = x.copy()
            x[firsts] = _FOLDS[reduce](x.dtype.type(initial), x[firsts])
        out[there] = _FOLDS[reduce].reduceat(x, firsts, axis=0)
    return out


def _fold_grad(
    F: Any,
    g: Any,
    input: Any,
    out: Any,
    counts: Any,
    reduce: str,
    initial: Any,
    input_shape: Any,
    input_dtype: Any,
) -> Any:
    """As PyTorch: equal extremes share the gradient, and each NaN counts as one of them; the
    gradient of a zero or a NaN in a product is the product of the others.
    """
    counts = np.asarray(counts, np.int64)
    owner = _beside(F, input, np.repeat(np.arange(counts.size), counts))

    def spread(rows: Any) -> Any:
        return F.index_select(rows, owner, dim=0)

    if reduce == "prod":
        odd = (input == 0) | (input != input)
        ordinary = spread(g * out) / F.where(
            odd, F.full(shape=(), value=1, dtype=input_dtype), input
        )
        if not namespace_of(values(F, odd)).to_host(values(F, odd)).any():
            return ordinary
        return F.where(odd, spread(g) * _others(F, input, counts, initial, input_dtype), ordinary)
    hit = F.cast((input == spread(out)) | (input != input), dtype=input_dtype)
    zeros = F.full(shape=(counts.size, *input_shape[1:]), value=0, dtype=input_dtype)
    many = F.index_add(zeros, owner, hit, dim=0, alpha=1)
    return hit * spread(g / F.where(many == 0, F.full(shape=(), value=1, dtype=input_dtype), many))


def _beside(F: Any, x: Any, array: np.ndarray) -> Any:
    """An array of NumPy as a rule computes with it beside `x`."""
    moved = namespace_of(values(F, x)).from_host(array)
    return moved if F.raw else wrap(moved)


def _others(F: Any, x: Any, counts: Any, initial: Any, dtype: Any) -> Any:
    """For each element the product of the other elements of its segment, and of `initial`."""
    n = int(counts.sum())
    one = F.full(shape=(), value=1, dtype=dtype)
    place = np.arange(n)
    # how many elements of its segment lie before each, and behind it
    before = place - np.repeat(np.cumsum(counts) - counts, counts)
    after = np.repeat(counts, counts) - 1 - before

    def moved(array: Any, by: int, room: np.ndarray) -> Any:
        """The element `by` places away, and 1 where that is in another segment."""
        use = room >= abs(by)
        at = _beside(F, x, np.where(use, place + by, 0))
        use = _beside(F, x, use.reshape(-1, *[1] * (len(x.shape) - 1)))
        return F.where(use, F.index_select(array, at, dim=0), one)

    made = one if initial is None else F.full(shape=(), value=initial, dtype=dtype)
    for sign, room in ((-1, before), (1, after)):
        # all elements on one side: runs that double in length
        side = moved(x, sign, room)
        length = 1
        while length < counts.max(initial=0):
            side = side * moved(side, sign * length, room)
            length *= 2
        made = side * made
    return made


segment_fold = defop(
    "segment_fold",
    "input",
    forward=_fold_rule,
    aval=lambda x, counts, reduce, initial: ((len(counts), *x[0][1:]), x[1]),
    vjp={"input": _fold_grad},
    host=True,
    samples=lambda rng: [
        Sample(
            (rng.random((5, 2)) + 0.5,),
            {"counts": (2, 0, 3), "reduce": how, "initial": initial},
        )
        for how, initial in (("prod", None), ("prod", 2.0), ("amax", 0.0), ("amin", 0.7))
    ],
)


@public(out=True)
@one_node("SegmentReduce", "data", "data lengths offsets out")
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduce consecutive segments of the dimension `axis`.

    Args:
        data: floating point.
        reduce: "sum", "mean", "prod", "max" or "min".
        lengths: integers, `(*data.shape[:axis], segments)`, how long each segment is; or
        offsets: where each segment begins and the last one ends, one number more.
        unsafe: the lengths need not fill the dimension; they still must fit in.
        initial: the value that each segment begins with; a mean of something counts it as 0 more
            elements.

    Raises:
        RuntimeError: neither lengths nor offsets; lengths that do not fill the dimension; another
            `axis` than their last one.

    >>> import pellucid as torch
    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 4.])
    """
    require_tensor(data, "segment_reduce", "data")
    if data.ndim == 0:
        raise OperationError("segment_reduce(): Expected data to have at least one dimension.")
    if reduce not in (*_EMPTY, "max", "min"):
        raise OperationError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if indices is not None:
        raise OperationError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise OperationError("segment_reduce(): Either lengths or offsets must be defined.")
    if not data.dtype.is_floating_point:
        raise UnsupportedError(
            f"\"_segment_reduce_cpu\" not implemented for '{data.dtype.scalar_type_name}'"
        )
    bounds = _bounds(data, lengths, offsets, axis % max(data.ndim, 1), axis, unsafe)
    axis %= data.ndim
    before, rest = math.prod(data._array.shape[:axis]), data._array.shape[axis + 1 :]
    bounds_of = bounds.reshape(before, bounds.shape[-1]).astype(np.int64)
    counts = np.diff(bounds_of, axis=-1)
    starts = (bounds_of[:, :-1] + data._array.shape[axis] * np.arange(before)[:, None]).reshape(-1)
    flat = counts.reshape(-1)
    # For each element of a segment: the number of the segment, and the element's index among all
    # rows.
    owner = np.repeat(np.arange(flat.size), flat)
    place = np.arange(owner.size) + np.repeat(starts - (np.cumsum(flat) - flat), flat)
    elements: Any = data.reshape(before * data._array.shape[axis], *rest).index_select(
        0, make_tensor(place)
    )
    segment = make_tensor(owner)
    made: Any = data.new_zeros((flat.size, *rest))
    many = make_tensor(flat.astype(data._array.dtype).reshape(-1, *[1] * len(rest)))
    name = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if name in ("sum", "mean"):
        made = made.index_add(0, segment, elements)
        made = made + (initial or 0.0)
        if name == "mean":
            made = made / many
    else:
        made = segment_fold.call(
            elements, counts=tuple(flat.tolist()), reduce=name, initial=initial
        )
    made = compare.where(
        many == 0, made.new_full((), _EMPTY[name] if initial is None else initial), made
    )
    made = made.reshape((*bounds.shape[:-1], bounds.shape[-1] - 1, *rest))
    return titled(made, "SegmentReduce", of=(data,))


def _bounds(
    data: Tensor,
    lengths: Tensor | None,
    offsets: Tensor | None,
    axis: int,
    given: int,
    unsafe: bool,
) -> np.ndarray:
    """Check and return the bounds of the segments: one number more than there are segments."""
    name, numbers = ("lengths", lengths) if lengths is not None else ("offsets", offsets)
    assert numbers is not None
    array = require_tensor(numbers, "segment_reduce", name)._array
    if array.dtype.kind != "i":
        raise UnsupportedError(
            f"\"_segment_reduce_{name}_cpu_kernel1\" not implemented for '{numbers.dtype.scalar_type_name}'"
        )
    if given != array.ndim - 1:
        raise OperationError(
            f"segment_reduce(): Expected axis to be the last dimension of {name} but got {given}."
        )
    if array.shape[:-1] != data._array.shape[:axis]:
        raise OperationError(
            f"segment_reduce(): Expected all dimensions of {name} before axis to be those of data."
        )
    size = data._array.shape[axis]
    steps = array if name == "lengths" else np.diff(array, axis=-1)
    if (steps < 0).any() or (name == "offsets" and (array < 0).any()):
        raise OperationError(f"{name} contains negative value!")
    bounds = (
        array
        if name == "offsets"
        else np.concatenate(
            [np.zeros((*array.shape[:-1], 1), array.dtype), array.cumsum(-1)], axis=-1
        )
    )
    if not bounds.shape[-1]:
        raise OperationError(
            "segment_reduce(): offsets must have one number more than there are segments."
        )
    last = bounds[..., -1]
    if (last > size).any() or (name == "lengths" and not unsafe and (last != size).any()):
        raise OperationError(
            f"segment_reduce(): Expected all rows of {name} along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    return bounds


FUNCTIONS["torch"]["_segment_reduce"] = FUNCTIONS["torch"]["segment_reduce"]
