"""Lookup tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import config, dtypes
from ...arrays import numpy_cpu
from ...arrays.halves import HALVES
from ...arrays.meta import MetaArray
from ...arrays.native import kernels
from ...arrays.sparse.array import SparseArray, package
from ...core import tracing
from ...core.bind import wrap
from ...core.inplace import bump
from ...core.modes import no_grad
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import reads_later, titled
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...core.transforms.whole import one_node
from ...dtypes import BY_NUMPY, int64
from ...errors import (
    ArgumentValueError,
    DtypeError,
    IndexOutOfRangeError,
    OperationError,
    UnsupportedError,
    warn,
)
from .._rules import require_tensor
from .._samples import Sample
from ..index._bounds import inside

_F32 = np.dtype(np.float32)


def _rows_grad(xp: Any, g: Any, *, index: Any, rows: int) -> Any:
    """Add the rows of `g` to the rows of the table given by `index`."""
    flat, where = g.reshape(index.size, g.shape[-1]), index.reshape(-1)
    if xp is numpy_cpu and g.dtype.char in "fd" and config.kernels and flat.size:
        made = kernels.indexing.embedding.scatter_add_rows(flat, where, rows)
        if made is not None:
            return made
    out = xp.zeros((rows, g.shape[-1]), g.dtype)
    order = xp.argsort(where, kind="stable")
    ordered = where[order]
    if flat.size:
        first = xp.ones(ordered.shape, bool)
        first[1:] = ordered[1:] != ordered[:-1]
        starts = xp.flatnonzero(first)
        wide = _F32 if g.dtype in HALVES else g.dtype  # round sums of two-byte floats once
        added = xp.add.reduceat(flat[order].astype(wide, copy=False), starts, axis=0)
        out[ordered[starts]] = added.astype(g.dtype, copy=False)
    return out


embedding_grad = defop(
    "embedding_grad",
    "grad",
    forward=_rows_grad,
    aval=lambda g, index, rows: ((rows, g[0][-1]), g[1]),
    vjp={"grad": lambda F, g, index: F.embedding(g, index=index, padding=-1, by_frequency=False)},
    jvp="linear",
    grad_name="EmbeddingDenseBackward",
    samples=lambda rng: [
        Sample((rng.random((2, 3, 4)),), {"index": np.array([[0, 2, 2], [1, 0, 4]]), "rows": 5})
    ],
)


def _embedding_vjp(
    F: Any, g: Any, weight_shape: Any, index: Any, padding: int, by_frequency: bool
) -> Any:
    if padding >= 0:
        kept = (index != padding)[..., None]
        # use `where`, not a product, so that a gradient that is not finite is left out, too
        g = F.where(kept if F.raw else wrap(kept), g, 0)
    if by_frequency:
        counts = np.bincount(index.reshape(-1), minlength=weight_shape[0])[index]
        scale = (1.0 / counts)[..., None].astype(g.dtype if F.raw else g._array.dtype)
        g = g * (scale if F.raw else wrap(scale))
    return F.embedding_grad(g, index=index, rows=weight_shape[0])


def _onnx_embedding(c: Any) -> Any:
    index = c.name(c.p["index"])
    kind = c.graph.trace.dtypes[c.p["index"].value]
    return c.emit(
        "Gather", c[0], index if kind in (np.int32, np.int64) else c.cast(index, np.int64), axis=0
    )


embedding_op = defop(
    "embedding",
    "weight",
    packs="index",
    forward=lambda xp, w, *, index, padding, by_frequency: (
        w.take(index, 0) if type(w) is np.ndarray else xp.take(w, index, 0)
    ),
    aval=lambda w, index, **_: ((*index.shape, w[0][-1]), w[1]),
    vjp={"weight": _embedding_vjp},
    jvp="linear",
    onnx=_onnx_embedding,
    samples=lambda rng: [
        Sample(
            (rng.random((5, 4)),),
            {"index": np.array([[0, 2, 2], [1, 0, 4]]), "padding": -1, "by_frequency": False},
        )
    ],
    shows={"scale_grad_by_freq": "by_frequency", "sparse": lambda: False},
)


def _sparse_vjp(
    F: Any, g: Any, weight_shape: Any, index: Any, padding: int, by_frequency: bool
) -> Any:
    """Return the gradient as a sparse tensor of the rows that were looked up, with repetitions."""
    if by_frequency:
        raise OperationError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    flat = index.reshape(-1).astype(np.int64)
    rows = g.reshape((flat.size, weight_shape[1]))
    if padding >= 0 and (flat == padding).any():
        kept = np.flatnonzero(flat != padding)
        flat, rows = flat[kept], rows[kept] if F.raw else F.index_select(rows, wrap(kept), dim=0)
    made = SparseArray("coo", weight_shape, rows if F.raw else rows._array, flat[None])
    return made if F.raw else package()._convert.build(made, rows)


embedding_sparse_op = defop(
    "embedding_sparse",
    "weight",
    forward=lambda xp, w, *, index, padding, by_frequency: xp.take(w, index, 0),
    aval=lambda w, index, **_: ((*index.shape, w[0][-1]), w[1]),
    vjp={"weight": _sparse_vjp},
    jvp="linear",
    grad_name="Embedding",
    onnx=_onnx_embedding,
)


def _looked_up(
    weight: Tensor, index: Any, padding: int, by_frequency: bool, sparse: bool
) -> Tensor:
    """Look up rows, with a dense or a sparse gradient."""
    if not sparse:
        return embedding_op.call(weight, index=index, padding=padding, by_frequency=by_frequency)
    if tracing.tracer():
        tracing.tracer().refuse("a gradient is sparse (`sparse=True`)")
    return embedding_sparse_op.call(weight, index=index, padding=padding, by_frequency=by_frequency)


_INDEX_DTYPES = frozenset({np.dtype(np.int64), np.dtype(np.int32)})


def _no_indices(name: str, input: Tensor) -> Exception:
    place = 2 if name == "embedding_renorm_" else 1
    return OperationError(
        f"Expected tensor for argument #{place} 'indices' to have one of the following scalar types: Long, Int; but got "
        f"{input.dtype.cpu_name} instead (while checking arguments for {name})",
        op=name,
        hint="indices must be integers: use .long()",
    )


def _indices(
    name: str, input: Tensor, rows: int, check: Callable[..., None] | None = None
) -> np.ndarray:
    index = require_tensor(input, name)._array
    if index.dtype not in _INDEX_DTYPES:
        raise _no_indices(name, input)
    if index.size:
        tracing.check(check or _check_rows, name, index, rows)
    return index


def _check_rows(name: str, index: np.ndarray, rows: int) -> None:
    """Refuse indices outside of the table."""
    if not inside(index, rows):
        raise IndexOutOfRangeError(
            "index out of range in self", op=name, found=_outside(index, rows)[2]
        )


def _check_bag_rows(name: str, index: np.ndarray, rows: int) -> None:
    """Refuse indices outside of the table, with PyTorch's message for bags."""
    if not inside(index, rows):
        _, bad, found = _outside(index, rows)
        raise OperationError(
            f"{name}: Expected idx >= 0 && idx < num_embeddings but found idx to be {bad}",
            op=name,
            found=found,
        )


def _check_summed_rows(name: str, index: np.ndarray, rows: int) -> None:
    """Refuse indices outside of the table, with PyTorch's message for sums of whole rows."""
    if not inside(index, rows):
        place, bad, found = _outside(index, rows)
        sentence = (
            f"Index {place} of input takes value {bad} which is not in the valid range [0, {rows})"
        )
        raise OperationError(sentence, op=name, found=found)


def _outside(index: np.ndarray, rows: int) -> tuple[int, int, str]:
    """Return the place and the value of the first index outside of the table, and a description of
    both.
    """
    place = int(np.flatnonzero((index < 0) | (index >= rows))[0])
    bad = int(index.reshape(-1)[place])
    return (
        place,
        bad,
        f"index {bad} at element {place}; the table has {rows} rows (0 to {rows - 1})",
    )


def _renormalise(weight: Tensor, index: np.ndarray, max_norm: float, norm_type: float) -> None:
    """Shrink the rows that are looked up to a norm of at most `max_norm`, in place and without
    recording.
    """
    if index.size and not (weight.dtype.is_floating_point or weight.dtype.is_complex):
        raise OperationError(
            f"norm(): input dtype should be either floating point or complex. Got {weight.dtype.scalar_type_name} instead."
        )
    with no_grad():
        changed = tracing.effect(
            _shrink_rows, weight._array, index, max_norm, norm_type, writes=(0,)
        )
        if tracing.tracer() or changed:
            bump(weight, "embedding_renorm_")


def _shrink_rows(w: np.ndarray, index: np.ndarray, max_norm: float, norm_type: float) -> bool:
    """Shrink rows to a norm of at most `max_norm`. Returns whether a row changed."""
    rows = np.unique(index)
    norms = np.linalg.norm(w[rows].astype(np.float64), ord=norm_type, axis=1)
    over = norms > max_norm
    if not over.any():
        return False
    w[rows[over]] *= (max_norm / (norms[over] + 1e-7))[:, None].astype(w.dtype)
    return True


@public(namespace="nn.functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` at integer indices.

    Args:
        input: int32 or int64 indices of any shape.
        weight: `(rows, columns)`.
        padding_idx: this row gets no gradient.
        max_norm: rows that are looked up are first shrunk in place to this norm.
        sparse: the gradient is a sparse tensor of the rows that were looked up.

    Raises:
        IndexError: an index out of range. RuntimeError: indices that are not integers.

    >>> import pellucid as torch
    >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    w = require_tensor(weight, "embedding", "weight", 2)
    if w.ndim != 2:
        raise OperationError("'weight' must be 2-D")
    rows = w._array.shape[0]
    if padding_idx is not None:
        if padding_idx > 0 and padding_idx >= rows or padding_idx < 0 and padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
    index = _indices("embedding", input, rows)
    if max_norm is not None:
        _renormalise(w, index, max_norm, norm_type)
    out = _looked_up(
        w, index, -1 if padding_idx is None else padding_idx, bool(scale_grad_by_freq), sparse
    )
    return out if out._node is None else reads_later(out, input)


@public(namespace="nn.functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or maximum of the rows of each bag of indices.

    Args:
        input: `(B, N)`, bags of equal size, or `(N,)` with `offsets` where each bag starts.
        mode: "sum", "mean" or "max".
        per_sample_weights: weights of the shape of `input`, for "sum" only.
        include_last_offset: the last offset is the end of the last bag.

    Returns:
        `(B, columns)`.

    >>> import pellucid as torch
    >>> table = torch.tensor([[1.0, 1.0], [2.0, 4.0], [3.0, 9.0]])
    >>> bags, offsets = torch.tensor([0, 2, 1]), torch.tensor([0, 2])
    >>> torch.nn.functional.embedding_bag(bags, table, offsets)
    tensor([[2., 5.],
            [2., 4.]])
    """
    if weight.dtype is int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
        input, weight = weight, input
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ArgumentValueError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not None, "
            f"then it must have the same shape as the input ({tuple(input.shape)})"
        )
    if weight.dim() != 2:
        raise ArgumentValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}"
        )
    require_tensor(input, "embedding_bag", "indices", 2)
    if mode not in ("sum", "mean", "max"):
        raise ArgumentValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise UnsupportedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if not (weight.dtype.is_floating_point and weight.dtype.itemsize > 1):
        raise OperationError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but got "
            f"{weight.dtype.cpu_name} instead (while checking arguments for embedding_bag)"
        )
    rows = weight._array.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise OperationError(
                f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
            )
        padding_idx %= rows
    if input.ndim == 1 and isinstance(offsets, Tensor) and offsets.ndim == 1:
        if offsets.dtype is not input.dtype:
            input, offsets = _of_one_dtype(input, offsets)
    whole = mode != "max" and padding_idx is None
    index = _indices("embedding_bag", input, rows, _check_summed_rows if whole else _check_bag_rows)
    if input.ndim == 2:
        if offsets is not None:
            raise ArgumentValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found "
                f"offsets of type {type(offsets)}"
            )
        starts = constant(
            np.arange(0, index.size, index.shape[1])
            if index.shape[1]
            else np.zeros(index.shape[0], np.int64)
        )
        index = F.reshape(input, shape=(-1,))._array
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.ndim == 1:
        if offsets is None:
            raise ArgumentValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ArgumentValueError("offsets has to be a 1D Tensor")
        if offsets._array.dtype not in _INDEX_DTYPES:
            raise _no_indices("embedding_bag", offsets)
        if include_last_offset and not offsets._array.size:
            raise OperationError("include_last_offset: number of offset should be at least 1")
        starts = (offsets[:-1] if include_last_offset else offsets)._array
        if offsets._array.size and not offsets.is_meta:
            tracing.check(_check_offsets, offsets._array, index.size)
    else:
        raise ArgumentValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if max_norm is not None:
        _renormalise(weight, index, max_norm, norm_type)
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ArgumentValueError(f"max mode does not support {what}")
    bags = starts.shape[0]
    kind = weight._array.dtype
    if weight.is_meta:  # shapes of results and gradients are the same in all modes
        bag, mode = MetaArray((index.size,), np.int64), "sum"
    elif input.ndim == 2 and padding_idx is None and index.size:  # bags of one size
        size = input._array.shape[1]
        bag, counts = (
            constant(np.repeat(np.arange(bags), size)),
            constant(np.full((bags, 1), size, kind)),
        )
    else:
        # Indices after the end of the last bag are in no bag. But PyTorch counts them, and uses
        # them for maxima and with padding.
        ends = include_last_offset and mode != "max" and padding_idx is None
        first = offsets._array if ends and offsets is not None else starts
        bag, counts = tracing.effect(_bags, first, index, padding_idx, kind)
        if ends and mode == "mean":
            counts = tracing.effect(_bags, starts, index, padding_idx, kind)[1]
        counts = counts[:bags]
    whole = starts if offsets is None else offsets._array
    made: Tensor = (_bagged if sparse else _bagged_in_one_node)(
        weight=weight,
        per_sample_weights=per_sample_weights,
        index=index,
        offsets=whole,
        bag=bag,
        bags=bags,
        counts=None if mode == "sum" else counts,
        mode=mode,
        padding=padding_idx,
        by_frequency=bool(scale_grad_by_freq),
        sparse=sparse,
    )
    return made if made._node is None else reads_later(made, input)


def _bag_facts(
    weight: Tensor,
    index: np.ndarray,
    offsets: np.ndarray,
    bag: np.ndarray,
    bags: int,
    mode: str,
    padding: int | None,
    **_: Any,
) -> dict[str, np.ndarray]:
    """Return the other values that PyTorch's node saves: the bag of each index, the size of each
    bag, and the indices of the largest elements.
    """
    kind = index.dtype
    facts = {"index": index, "offsets": offsets}
    if mode == "sum":
        of_each = np.empty(0, kind)
        # the bag of each index, unless PyTorch's kernel for plain sums runs
        if padding is not None or weight._array.dtype.itemsize > 4:
            of_each = _bags(offsets[:bags], index, None, kind)[0].astype(kind)
        none = np.zeros(bags, kind)
        return facts | {"offset2bag": of_each, "bag_size": none, "max_indices": none}
    of_each = _bags(offsets[:bags], index, None, kind)[0].astype(kind)
    sizes = np.bincount(bag, minlength=bags)[:bags].astype(kind)
    largest = sizes
    if mode == "max":
        winner, filled = _winners(weight._array[index], bag, bags)
        largest = np.where(filled, index[winner], 0).astype(kind)
    return facts | {"offset2bag": of_each, "bag_size": sizes, "max_indices": largest}


def _bagged(
    weight: Tensor,
    per_sample_weights: Tensor | None,
    index: Any,
    offsets: Any,
    bag: Any,
    bags: int,
    counts: Any,
    mode: str,
    padding: int | None,
    by_frequency: bool,
    sparse: bool,
) -> Tensor:
    looked = _looked_up(
        weight, index, padding if sparse and padding is not None else -1, by_frequency, sparse
    )
    if per_sample_weights is not None:
        looked = looked * per_sample_weights.unsqueeze(1)
    # the inputs that a node of several operations shows
    of: tuple[Any, ...] = () if sparse else (weight, per_sample_weights)
    if mode == "max":
        return titled(
            _bag_max(looked, bag, bags),
            "EmbeddingBag",
            of=of,
            indices=wrap(index),
            offsets=wrap(offsets),
            mode=("sum", "mean", "max").index(mode),
            scale_grad_by_freq=by_frequency,
            sparse=sparse,
        )
    total = F.embedding_grad(looked, index=bag, rows=bags + 1)[:bags]
    return titled(
        total if mode == "sum" else total / wrap(counts),
        "EmbeddingBag",
        of=of,
        indices=wrap(index),
        offsets=wrap(offsets),
        mode=("sum", "mean", "max").index(mode),
        scale_grad_by_freq=by_frequency,
        sparse=sparse,
    )


_bagged_in_one_node = one_node(
    "EmbeddingBag",
    "weight per_sample_weights",
    "index offsets per_sample_weights weight_for_per_sample_weights offset2bag bag_size max_indices",
    beside=_bag_facts,
)(_bagged)


def _of_one_dtype(input: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Convert indices and offsets to their common dtype."""
    kind = dtypes.promote_types(input.dtype, offsets.dtype)
    made = tuple(t if t.dtype is kind else t.to(kind) for t in (input, offsets))
    if made[0]._array.dtype not in _INDEX_DTYPES:
        raise _no_indices("embedding_bag", made[0])
    return made  # type: ignore[return-value]


def _check_offsets(starts: np.ndarray, size: int) -> None:
    if starts[0] != 0:
        raise OperationError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {starts[0]}\n[ "
            f"{BY_NUMPY[starts.dtype].cpu_name}{{}} ]"
        )
    falls = np.flatnonzero(starts[1:] < starts[:-1])
    if len(falls):
        k = int(falls[0])
        raise OperationError(
            f"offsets must not decrease, but offsets[{k}] is {starts[k]} and offsets[{k + 1}] is {starts[k + 1]}"
        )
    if starts[-1] > size:
        raise OperationError(
            f"offsets[-1] can not be greater than input's length {size} but got offsets[-1] of {starts[-1]}"
        )


def _bags(
    starts: np.ndarray, index: np.ndarray, padding: int | None, kind: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bag of each index (for padding, the number of bags) and, as a column, how many
    indices each bag has, at least 1.
    """
    if config.kernels:
        made = kernels.indexing.embedding_bag.bags(starts, index, padding, kind)
        if made is not None:
            return made
    bags, bag = len(starts), np.zeros(index.size, np.int64)
    np.add.at(bag, starts[1:][starts[1:] < index.size], 1)
    bag = np.cumsum(bag)
    if padding is not None:
        bag[index == padding] = bags
    return bag, np.maximum(np.bincount(bag, minlength=bags)[:bags], 1).astype(kind)[:, None].copy()


def _bag_max(looked: Tensor, bag: np.ndarray, bags: int) -> Tensor:
    """Return the largest element of each column in each bag, and zeros for an empty bag. The
    gradient goes to the first maximum.
    """
    a = looked._array
    if not a.size:
        return F.embedding_grad(looked, index=bag, rows=bags + 1)[:bags]
    winner, filled = tracing.effect(_winners, a, bag, bags)
    picked = F.take_along(looked, wrap(winner), dim=0, unique=True)
    return F.where(wrap(filled), picked, 0.0)


def _winners(a: np.ndarray, bag: np.ndarray, bags: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of the largest element of each column in each bag and, as a column, which bags
    have one.
    """
    if config.kernels:
        made = kernels.indexing.embedding_bag.winners(a, bag, bags)
        if made is not None:
            return made
    winner = np.zeros((bags, a.shape[1]), np.int64)
    order = np.argsort(bag, kind="stable")
    counts = np.bincount(bag, minlength=bags)
    starts = np.concatenate(([0], np.cumsum(counts)))
    for b in range(bags):
        if counts[b]:
            own = order[starts[b] : starts[b + 1]]
            winner[b] = own[np.argmax(a[own], axis=0)]
    return winner, (counts[:bags] > 0)[:, None].copy()


@public(names="embedding_bag _embedding_bag _embedding_bag_forward_only")
def embedding_bag_parts(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`nn.functional.embedding_bag` in the form of PyTorch's native function: `mode` is a number,
    the weight stands first.

    Args:
        mode: 0 sum, 1 mean, 2 maximum.

    Returns:
        The rows `(B, columns)`; the bag of each index (none where PyTorch sums without it); how
        many indices each bag has (without `padding_idx`; 0 for sums); and, for the maximum, which
        index each element came from (0 in an empty bag), else the third again.

    >>> import pellucid as torch
    >>> torch.embedding_bag(torch.eye(3), torch.tensor([0, 1, 2, 2]), torch.tensor([0, 2]))[0]
    tensor([[1., 1., 0.],
            [0., 0., 2.]])
    """
    for name, t, dims in (
        ("input", indices, (1, 2)),
        ("offsets", offsets, (1,)),
        ("weight", weight, (2,)),
    ):
        if require_tensor(t, "embedding_bag", name).ndim not in dims:
            wanted = "1D or 2D" if len(dims) == 2 else f"{dims[0]}D"
            raise OperationError(
                f"{name} has to be a {wanted} Tensor, but got Tensor of dimension {t.ndim}"
            )
    if mode not in (0, 1, 2):
        raise OperationError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None and indices.ndim == 1:
        _check_scales(weight, per_sample_weights, mode)
    indices, offsets = _of_one_dtype(indices, offsets)
    if indices.ndim == 2:
        return _bags_of_rows(
            weight,
            indices,
            offsets,
            scale_grad_by_freq,
            mode,
            sparse,
            per_sample_weights,
            include_last_offset,
            padding_idx,
        )
    out = embedding_bag(
        indices,
        weight,
        offsets,
        None,
        2.0,
        scale_grad_by_freq and mode != 2,
        ("sum", "mean", "max")[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    bags, padding = (
        out._array.shape[0],
        None if padding_idx is None else padding_idx % weight._array.shape[0],
    )
    parts = tracing.effect(
        _parts, indices._array, offsets._array, weight._array, bags, mode, padding
    )
    return (out, *map(wrap, parts))  # type: ignore[return-value]


def _check_scales(weight: Tensor, scales: Tensor, mode: int) -> None:
    if mode:
        raise OperationError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if scales.dtype is not weight.dtype:
        raise DtypeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but type "
            f"{weight.type()} does not equal {scales.type()} (while checking arguments for embedding_bag)"
        )
    if scales.ndim != 1:
        raise OperationError(
            "Expected per_sample_weights.value().dim() == 1 to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )


def _bags_of_rows(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    by_frequency: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return sums and means over bags of 2-D indices, like those of the flattened indices. But
    offsets go only up to the number of rows, and a mean divides by how many of the first `rows`
    flattened indices are in the bag.

    Raises:
        RuntimeError: what PyTorch refuses; and the maximum, for which it reads beside its memory.
    """
    rows = indices._array.shape[0]
    index = _indices("embedding_bag", indices, weight._array.shape[0], _check_summed_rows)
    tracing.check(_check_offsets, offsets._array, rows)
    if per_sample_weights is not None:
        raise OperationError(
            "Expected per_sample_weights.value().dim() == 1 to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    line = indices.reshape(-1)
    total = embedding_bag(
        line,
        weight,
        offsets,
        scale_grad_by_freq=by_frequency,
        mode="sum",
        sparse=sparse,
        include_last_offset=include_last_offset,
    )
    if index.shape[1] != 1 and (weight.dtype is dtypes.float64 or padding_idx is not None):
        raise OperationError(
            "Expected select_indices.numel() == add_indices.numel() to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if mode == 2:
        raise UnsupportedError("embedding_bag: the maximum over 2-D indices with offsets")
    bags = total._array.shape[0]
    bag, sizes, source = tracing.effect(
        _parts, index[:, 0], offsets._array, weight._array, bags, mode, None
    )
    if mode == 1:
        total = total / wrap(np.maximum(sizes, 1).astype(weight._array.dtype)[:, None])
    return total, wrap(bag), wrap(sizes), wrap(source)


def _parts(
    index: Any, offsets: Any, weight: Any, bags: int, mode: int, padding: int | None
) -> tuple[np.ndarray, ...]:
    """Return the bag of each index, the size of each bag, and the index from which each element of
    a maximum came.
    """
    bag = np.searchsorted(offsets[:bags], np.arange(index.size), side="right") - 1
    kept = np.ones(index.size, bool) if padding is None else index != padding
    if mode == 0:  # PyTorch's fast sum needs no sizes
        sizes = np.zeros(len(offsets), np.int64)
        return (
            (bag if padding is not None or weight.dtype == np.float64 else bag[:0]),
            sizes,
            sizes.copy(),
        )
    sizes = np.bincount(bag[kept], minlength=bags)
    source = sizes.copy()
    if mode == 2:
        source = np.zeros((bags, weight.shape[1]), np.int64)
        for b in range(bags):
            own = index[(bag == b) & kept]
            if own.size:
                source[b] = own[np.argmax(weight[own], axis=0)]
    return bag, sizes, source


@public(names="embedding_renorm_")
def embedding_renorm(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows that are looked up down to a norm of `max_norm`, in place; returns `input`.

    >>> import pellucid as torch
    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [3.0, 4.0]]), torch.tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    _renormalise(
        input, _indices("embedding_renorm_", indices, input._array.shape[0]), max_norm, norm_type
    )
    return input
