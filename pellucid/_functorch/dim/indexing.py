"""Indices with first-class dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core.public import FUNCTIONS
from ...core.tensor import Tensor as PlainTensor
from ...dtypes import bool_
from .tensors import (
    OF_DIMS,
    Dim,
    DimensionBindError,
    DimList,
    Tensor,
    _batched,
    _Tensor,
    bound,
    joined,
    parts,
)

_ALL = slice(None)


def index(x: Any, positions: Any, dims: Any) -> Any:
    """`x.index(positions, dims)`.

    Args:
        x: a tensor with dimensions.
        positions: a dimension, or a list of them.
        dims: an index for each.
    """
    return x.index(positions, dims)


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: a dimension in the index names the dimension at its place, and a tuple of them
    splits it; what else the index holds then picks from each sample.
    """
    named, rest = _named(x, index)
    if all(isinstance(item, slice) and item == _ALL for item in rest):
        return named
    found = [v for v in (named, *rest) if isinstance(v, _Tensor)]
    if not found:
        return named[tuple(rest)]
    return _batched(PlainTensor.__getitem__, (named, tuple(rest)), {}, found)


def setitem(x: Any, index: Any, value: Any) -> None:
    """`x[index] = value`: the value's dimensions find theirs in the index."""
    named, rest = _named(x, index)
    if any(isinstance(item, (PlainTensor, _Tensor)) for item in rest):
        _scatter(named, rest, value)
        return
    view = getitem(named, tuple(rest))
    dims = view.dims if isinstance(view, _Tensor) else ()
    target = view.order(*dims) if dims else view
    target.copy_(_lined_up(value, dims, target.dim()))


def _lined_up(value: Any, dims: Sequence[Dim], ndim: int) -> Any:
    """A value whose first dimensions are these; those that it lacks have one element."""
    if not isinstance(value, (PlainTensor, _Tensor)):
        return value if ndim < 0 else _tensor(value)
    own = value.dims if isinstance(value, _Tensor) else ()
    for each in own:
        if not any(each is d for d in dims):
            raise DimensionBindError(
                f"Tensor of dimensions {tuple(dims)} does not contain dim {each} of the assigned value"
            )
    plain: Any = value
    if isinstance(value, _Tensor):
        plain = value.order(*[d for d in dims if any(d is o for o in own)])
    positional = plain.dim() - len(own)
    sizes = iter(plain.shape)
    lead = [next(sizes) if any(d is o for o in own) else 1 for d in dims]
    fill = [1] * (ndim - len(dims) - positional)
    return plain.reshape(*lead, *fill, *sizes)


def _tensor(value: Any) -> PlainTensor:
    return FUNCTIONS["torch"]["as_tensor"](value)


def _scatter(named: Any, rest: Sequence[Any], value: Any) -> None:
    """Write at positions that tensors with dimensions tell."""
    plain, levels = parts(named)
    if not all(isinstance(item, (PlainTensor, _Tensor, int)) for item in rest) or any(
        isinstance(item, PlainTensor) and item.dim() for item in rest
    ):
        raise NotImplementedError(
            "functorch.dim: an assignment whose index has both tensors with dimensions and slices"
        )
    own = [level for level in levels if isinstance(level, Dim)]
    tensors = [*own, *[item for item in rest if isinstance(item, _Tensor)]]
    dims = list(dict.fromkeys(d for t in tensors for d in t.dims))
    picks = iter([*rest, *[_ALL] * (len(levels) - len(own) - len(rest))])
    places = [level if isinstance(level, Dim) else next(picks) for level in levels]
    filled = [_lined_up(p, dims, len(dims)) if isinstance(p, _Tensor) else p for p in places]
    sizes = [d.size for d in dims]
    tail = plain.dim() - sum(not isinstance(p, slice) for p in places)
    picked = plain[tuple(filled)]
    whole = _lined_up(value, dims, len(dims) + tail)
    plain[tuple(filled)] = whole.expand(*sizes, *picked.shape[len(dims) :])


def _named(x: Any, index: Any) -> tuple[Any, list[Any]]:
    """The tensor with the dimensions that an index names, and what of the index is left for its
    positional dimensions.
    """
    several = isinstance(index, tuple) or isinstance(index, list) and not _is_data(index)
    items = list(index) if several else [index]
    items = [part for item in items for part in _spread(item)]
    ndim = sum(not isinstance(level, Dim) for level in parts(x)[1])
    used = sum(_takes(item) for item in items)
    lists = [k for k, item in enumerate(items) if isinstance(item, DimList)]
    if len(lists) + sum(item is ... for item in items) > 1:
        raise DimensionBindError(
            "at most one ... or unbound dimension list can appear in indexing list"
        )
    if used > ndim:
        raise ValueError(
            f"at least {used} indices were supplied but the tensor only has {ndim} dimensions"
        )
    if lists:
        items[lists[0]].bind_len(ndim - used)
        items[lists[0] : lists[0] + 1] = items[lists[0]]
    elif ... in [item if item is ... else None for item in items]:
        at = next(k for k, item in enumerate(items) if item is ...)
        items[at : at + 1] = [_ALL] * (ndim - used)
    inside = [d for item in items if _is_tensor(item) for d in getattr(item, "dims", ())]
    seen = [*(x.dims if isinstance(x, _Tensor) else ()), *inside]
    rest: list[Any] = []
    place = 0  # the positional dimension that an item is about
    for item in items:
        if isinstance(item, Dim):
            if any(item is d for d in seen):
                rest.append(item)  # named already: its positions pick
                item.size = _size(x, place)
                place += 1
            else:
                x = bound(x, place, item)
                seen.append(item)
        elif isinstance(item, (tuple, list)):
            x = _split(x, place, item)
            for each in item:
                if any(each is d for d in seen):
                    rest.append(each)
                    place += 1
                else:
                    x = bound(x, place, each)
                    seen.append(each)
        else:
            rest.append(item)
            place += _takes(item)
    return x, rest


def _is_tensor(item: Any) -> bool:
    return isinstance(item, _Tensor) and not isinstance(item, Dim)


def _spread(item: Any) -> Sequence[Any]:
    """The items that one item of an index stands for."""
    if isinstance(item, DimList) and item.is_bound:
        return list(item)
    if isinstance(item, (tuple, list)):
        if _is_data(item):
            return [_tensor(item)]
        return [[d for each in item for d in _spread(each)]]
    return [item]


def _is_data(items: Sequence[Any]) -> bool:
    return not any(isinstance(item, (Dim, DimList)) for item in items)


def _takes(item: Any) -> int:
    """How many positional dimensions an item is about."""
    if item is None or item is ... or isinstance(item, DimList):
        return 0
    if isinstance(item, (PlainTensor, Tensor)) and getattr(item, "dtype", None) is bool_:
        return item.ndim
    return 1


def _size(x: Any, place: int) -> int:
    return int(x.shape[place])


def _split(x: Any, place: int, dims: Sequence[Dim]) -> Any:
    """The tensor with a positional dimension split into as many as there are dimensions; one of
    them may be without a size.
    """
    size = _size(x, place)
    unknown = [d for d in dims if not d.is_bound]
    known = math.prod([d.size for d in dims if d.is_bound])
    if len(unknown) > 1:
        raise DimensionBindError(f"cannot infer the sizes of dimensions at once {tuple(unknown)}")
    if size % known if unknown else known != size:
        raise DimensionBindError(
            f"inferred dimension does not evenly fit into larger dimension: {size} vs {tuple(dims)}"
            if unknown
            else f"Dimension sizes to do not match ({known} != {size}) when matching dimension pack {tuple(dims)}"
        )
    if unknown:
        unknown[0].size = size // known
    plain, levels = parts(x)
    own = [level for level in levels if isinstance(level, Dim)]
    front = x.order(*own) if own else plain
    return joined(front.unflatten(len(own) + place, [d.size for d in dims]), own)


OF_DIMS["__getitem__"] = getitem
OF_DIMS["__setitem__"] = setitem
