"""Joining of tensors: cat, stack and others, block_diag, meshgrid, products and combinations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import config, dtypes, shapes
from ...arrays.native import kernels, straight
from ...core.bind import common_dtype, finish, wrap
from ...core.callers import make_recorder
from ...core.display.streamed import streamed
from ...core.interpret import thread
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import Primitive, defop
from ...core.public import FUNCTIONS, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...core.transforms.arranging import by_steps
from ...errors import ArgumentTypeError, OperationError, ShapeError, type_name, warn_once
from .._format import has_channels_last
from .._rules import checked_tensors, keyword, past_autocast, require_tensor
from .._samples import cases
from .broadcast import expand
from .view import reshape

CAT = (
    "apart: cast: TypeError: torch.cat(): input types can't be cast to the desired output type "
    "{given}"
)


# ---- cat and stack ---------------------------------------------------------------------------
def _cat(xp: Any, *tensors: Any, dim: int) -> Any:
    ndim = tensors[0].ndim
    for x in tensors:
        if x.ndim != ndim:  # PyTorch ignores empty vectors
            tensors = tuple(x for x in tensors if x.shape != (0,))
            break
    return _joined(xp.concatenate, tensors, dim)


_concatenate = straight(np.concatenate)


def _joined(concatenate: Any, arrays: Any, dim: int) -> Any:
    """Concatenate the arrays. The result is contiguous, unless all arrays are channels-last.

    NumPy's result would have the layout on which its operands agree.
    """
    made = _by_kernel(arrays, dim)
    if made is not None:
        return made
    made = concatenate(arrays, axis=dim)
    if type(made) is not np.ndarray or made.flags.c_contiguous:
        return made
    return made if all(map(has_channels_last, arrays)) else np.ascontiguousarray(made)


def _by_kernel(arrays: Any, dim: int) -> Any:
    """Concatenate the arrays with a kernel; None if NumPy is as fast."""
    first = arrays[0]
    if type(first) is not np.ndarray or first.size < _MANY or not config.kernels:
        return None
    if any(type(x) is not np.ndarray for x in arrays):
        return None
    if first.flags.c_contiguous:
        return kernels.indexing.pieces.joined(arrays, dim)
    if first.ndim == 4 and -4 <= dim < 4 and all(map(has_channels_last, arrays)):
        rows = [x.transpose(0, 2, 3, 1) for x in arrays]
        made = kernels.indexing.pieces.joined(rows, (0, 3, 1, 2)[dim])
        return None if made is None else made.transpose(0, 3, 1, 2)
    return None


_MANY = 1 << 11  # from this many elements of the first array on, a kernel is used


def _cat_grad(F: Any, g: Any, tensors_shapes: Any, dim: int, needs: Any) -> Any:
    ndim = max(len(s) for s in tensors_shapes)
    out, start = [], 0
    for shape, need in zip(tensors_shapes, needs, strict=True):
        if shape == (0,) != g.shape and ndim > 1:
            out.append(F.full(shape=shape, value=0, dtype=np.dtype(np.float32)) if need else None)
            continue
        end = start + shape[dim]
        out.append(F.slice(g, dim=dim, start=start, end=end, step=1) if need else None)
        start = end
    return out


def _cat_aval(*avals: Any, dim: int) -> Any:
    return shapes.cat_shape([a[0] for a in avals], dim), avals[0][1]


cat_op = defop(
    "cat",
    "*tensors",
    forward=_cat,
    aval=_cat_aval,
    vjp=_cat_grad,
    jvp="linear",
    promote="common",
    batch="dims",
    traits="passes",
    onnx=lambda c: c.emit("Concat", *c.names, axis=int(c.p["dim"])),
    autocast="promote",
    aten=lambda A, *tensors, dim: A.cat(list(tensors), dim),
    samples=cases((((2, 3), (2, 1), (2, 0)), {"dim": 1}), (((2,), (3,)), {"dim": 0}), complex=True),
)


def _stack(xp: Any, *tensors: Any, dim: int) -> Any:
    first = tensors[0]
    if type(first) is np.ndarray and not first.flags.c_contiguous and dim < first.ndim:
        shape = shapes.stack_shape([x.shape for x in tensors], dim)
        # with the layout of the result of `cat`, one dimension of which is split
        return _joined(xp.concatenate, tensors, dim).reshape(shape)
    made = _stacked(xp, tensors, dim)
    return np.ascontiguousarray(made) if type(made) is np.ndarray and made.ndim else made


def _stacked(xp: Any, tensors: Any, dim: int) -> Any:
    # indexing is not cheaper for many arrays, and invalid dimensions are refused by NumPy
    if len(tensors) > 64 or dim > tensors[0].ndim:
        return xp.stack(tensors, axis=dim)
    if dim == 0 and type(tensors[0]) is np.ndarray and len({x.shape for x in tensors}) == 1:
        return np.array(tensors)
    place = (*[slice(None)] * dim, None)
    return xp.concatenate([x[place] for x in tensors], dim)


def _onnx_stack(c: Any) -> Any:
    dim = int(c.p["dim"])
    return c.emit(
        "Concat", *[c.emit("Unsqueeze", name, c.ints([dim])) for name in c.names], axis=dim
    )


stack_op = defop(
    "stack",
    "*tensors",
    forward=_stack,
    aval=lambda *avals, dim: (shapes.stack_shape([a[0] for a in avals], dim), avals[0][1]),
    vjp=lambda F, g, dim, needs: [
        F.select(g, dim=dim, index=i) if need else None for i, need in enumerate(needs)
    ],
    jvp="linear",
    promote="common",
    autocast="promote",
    batch=lambda b: b.call(*b.whole(), dim=b.shifted(b.p["dim"])),
    traits="passes",
    onnx=_onnx_stack,
    aten=lambda A, *tensors, dim: A.stack(list(tensors), dim),
    samples=cases(
        (((2, 3), (2, 3)), {"dim": 2}),
        (((), (), ()), {"dim": 0}),
        (((2, 0),), {"dim": 1}),
        complex=True,
    ),
)


def tensors_of(tensors: Any, name: str) -> Sequence[Tensor]:
    """The tensors of a call, checked."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise ArgumentTypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(tensors)}"
        )
    return checked_tensors(tensors)


def _plain(tensors: Any) -> tuple[list[np.ndarray], bool] | None:
    """Return the arrays of plain tensors of one dtype and number of dimensions, and whether a
    gradient is wanted. None for other arguments.
    """
    if state.slow or type(tensors) not in (list, tuple) or not tensors:
        return None
    arrays = []
    kind = ndim = None
    wanted = False
    for x in tensors:
        if type(x) is not Tensor:
            return None
        a = x._array
        if a.dtype is not kind or a.ndim != ndim:
            if kind is not None:
                return None
            kind, ndim = a.dtype, a.ndim
        if type(a) is not np.ndarray:
            return None
        wanted = wanted or x._rg
        arrays.append(a)
    return arrays, wanted and local.grad


# keys: the operation, and which tensors want a gradient
_recorders: dict[tuple[str, tuple[bool, ...]], Any] = {}


def _recorded(op: Primitive, tensors: Sequence[Tensor], made: np.ndarray, dim: int) -> Tensor:
    """Return the tensor of a result of plain tensors, one of which wants a gradient."""
    needs = tuple([x._rg for x in tensors])
    record = _recorders.get((op.name, needs))
    if record is None:
        # long lists may have another length each time, so they have no recorder of their own
        if len(tensors) > 16:
            joined: Tensor = finish(op, tensors, needs, {"dim": dim}, made)
            return joined
        record = _recorders[op.name, needs] = make_recorder(op, needs)
    return record(*tensors, made, {"dim": dim})


@public(names="cat concat concatenate", out=CAT)
def cat(tensors: Sequence[Tensor], dim: int = 0, **alias: int) -> Tensor:
    """Concatenate tensors along an existing dimension.

    Args:
        tensors: a sequence of tensors whose sizes agree in all dimensions but `dim`. They are
            promoted to a common dtype.
        dim: the dimension. Default: 0.

    Raises:
        RuntimeError: sizes differ in another dimension. ValueError: no tensors. IndexError: `dim`
            is out of range.

    >>> import pellucid as torch
    >>> torch.cat((torch.tensor([1, 2]), torch.tensor([3])))
    tensor([1, 2, 3])
    """
    if alias:
        dim = keyword(alias, "cat", "axis")
    plain = _plain(tensors)
    if plain is not None and plain[0][0].ndim:
        arrays, recorded = plain
        try:
            made = _joined(_concatenate, arrays, dim)
        except (TypeError, ValueError):
            pass  # refused below, with PyTorch's message
        else:
            if not recorded:
                return wrap(made)
            return _recorded(cat_op, tensors, made, dim + made.ndim if dim < 0 else dim)
    given = [x._array.shape for x in tensors_of(tensors, "cat")]
    shape = shapes.cat_shape(given, dim)
    return cat_op.call(*tensors, dim=shapes.normalize_dim(dim, len(shape)))


@public(out=CAT)
def stack(tensors: Sequence[Tensor], dim: int = 0, **alias: int) -> Tensor:
    """Join tensors of the same shape along a new dimension.

    Args:
        tensors: a sequence of tensors of the same shape. They are promoted to a common dtype.
        dim: the position of the new dimension in the result. Default: 0.

    Raises:
        RuntimeError: the shapes differ. IndexError: `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.stack((torch.tensor([1, 2]), torch.tensor([3, 4])), 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if alias:
        dim = keyword(alias, "stack", "axis")
    plain = _plain(tensors)
    if plain is not None:
        arrays, recorded = plain
        if dim == 0 and arrays[0].flags.c_contiguous and len({a.shape for a in arrays}) == 1:
            made = np.array(arrays)
            return _recorded(stack_op, tensors, made, 0) if recorded else wrap(made)
        return stack_op.call(*tensors, dim=shapes.normalize_dim(dim, arrays[0].ndim + 1))
    shape = shapes.stack_shape([x._array.shape for x in tensors_of(tensors, "stack")], dim)
    return stack_op.call(*tensors, dim=dim + len(shape) if dim < 0 else dim)


def _joiner(name: str, least: int, dim: Any, doc: str, example: str) -> None:

    def function(tensors: Sequence[Tensor]) -> Tensor:
        if not tensors_of(tensors, name):
            raise OperationError(f"{name} expects a non-empty TensorList")
        grown = FUNCTIONS["torch"][f"atleast_{least}d"](tuple(tensors))
        return cat(grown, dim(grown) if callable(dim) else dim)

    function.__name__ = name
    function.__doc__ = f"""{doc}

    Args:
        tensors: a sequence of tensors whose sizes agree in all other dimensions.

    >>> import pellucid as torch
    >>> torch.{name}({example}
    """
    public(names={"vstack": "vstack row_stack"}.get(name, name), out=CAT)(function)


_joiner(
    "hstack",
    1,
    lambda xs: 0 if xs[0]._array.ndim == 1 else 1,
    "Join tensors horizontally: along dimension 1, or dimension 0 for vectors.",
    "(torch.tensor([1, 2]), torch.tensor([3])))\n    tensor([1, 2, 3])",
)
_joiner(
    "vstack",
    2,
    0,
    "Join tensors vertically, along dimension 0. Vectors count as rows.",
    "(torch.tensor([1, 2]), torch.tensor([3, 4])))\n    tensor([[1, 2],\n            [3, 4]])",
)
_joiner(
    "dstack",
    3,
    2,
    "Join tensors along dimension 2. Vectors and matrices get the missing dimensions first.",
    "(torch.tensor([1, 2]), torch.tensor([3, 4])))\n    tensor([[[1, 3],\n             [2, 4]]])",
)


@public(out=CAT)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Join tensors horizontally. Vectors count as columns.

    Args:
        tensors: a sequence of tensors whose sizes agree in all dimensions but the second.

    >>> import pellucid as torch
    >>> torch.column_stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    if not tensors_of(tensors, "column_stack"):
        raise OperationError("column_stack expects a non-empty TensorList")
    return cat([reshape(x, (x._array.size, 1)) if x._array.ndim <= 1 else x for x in tensors], 1)


@public()
@past_autocast
def block_diag(*tensors: Any) -> Tensor:
    """Matrices along the diagonal of a matrix that is 0 elsewhere.

    >>> import pellucid as torch
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    matrices = []
    for k, x in enumerate(checked_tensors(tensors)):
        ndim = x._array.ndim
        if ndim > 2:
            raise ShapeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {ndim} dimensions"
            )
        matrices.append(x if ndim == 2 else reshape(x, (1, x._array.size)))
    if not matrices:
        return make_tensor(constant(np.empty((1, 0), dtypes.get_default_dtype().numpy)))
    kind = common_dtype(tensors)  # 0-d tensors give way in type promotion
    width, left, rows = sum(m._array.shape[1] for m in matrices), 0, []
    for m in matrices:
        wide = m._array.shape[1]
        m = m if m.dtype is kind else F.cast(m, dtype=kind.numpy)
        rows.append(F.constant_pad_nd(m, pad=(left, width - wide - left), value=0))
        left += wide
    return titled(cat(rows, 0), "BlockDiag", of=tuple(tensors))


# ---- grids and selections --------------------------------------------------------------------
@public()
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates: each vector expanded over the product of all.

    Args:
        indexing: "ij" (the k-th dimension belongs to the k-th vector, the default) or "xy" (the
            first two exchanged).

    >>> import pellucid as torch
    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not checked_tensors(tensors):
        raise OperationError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            UserWarning,
        )
        indexing = "ij"
    if not isinstance(indexing, str):
        raise ArgumentTypeError(
            f"meshgrid(): argument 'indexing' must be str, not {type_name(indexing)}"
        )
    if indexing not in ("ij", "xy"):
        raise OperationError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for what in ("dtype", "device"):
        if any(getattr(x, what) != getattr(tensors[0], what) for x in tensors):
            raise OperationError(f"meshgrid expects all tensors to have the same {what}")
    for x in tensors:
        if x._array.ndim > 1:
            shown = streamed(_wide(x), x.dtype.cpu_name)
            raise ShapeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {shown}"
            )
    swap = indexing == "xy" and len(tensors) > 1
    vectors = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = tuple(x._array.size for x in vectors)
    grids = [
        expand(reshape(x, (1,) * k + (shape[k],) + (1,) * (len(shape) - 1 - k)), shape)
        for k, x in enumerate(vectors)
    ]
    if swap:
        # The vectors were swapped before, so swap the first two grids back.
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _wide(x: Tensor) -> Any:
    kind = dtypes.complex128 if x.dtype.is_complex else dtypes.float64
    return x.detach().to(kind)._array


@public()
def cartesian_prod(*tensors: Any) -> Tensor:
    """Every combination of one element of each vector, as rows.

    >>> import pellucid as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for x in checked_tensors(tensors):
        if x._array.ndim != 1:
            raise ShapeError(f"Expect a 1D vector, but got shape {shapes.text(x._array.shape)}")
        if x.dtype is not tensors[0].dtype:
            raise OperationError("meshgrid expects all tensors to have the same dtype")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([reshape(grid, (-1,)) for grid in grids], 1)


@public()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one per row, in the order of
    `itertools.combinations`.

    Args:
        input: a vector.
        r: how many elements to choose. Default: 2.
        with_replacement: an element may be chosen again. Default: False.

    >>> import pellucid as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    ndim = require_tensor(input, "combinations")._array.ndim
    if ndim != 1:
        raise ShapeError(f"Expect a 1D vector, but got shape {shapes.text(input._array.shape)}")
    if r < 0:
        raise OperationError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return make_tensor(constant(np.empty(0, input._array.dtype)))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = constant(np.array(list(choose(range(input._array.size), r)), np.int64)).reshape(-1, r)

    def short() -> Tensor:
        return reshape(F.index_select(input, make_tensor(rows.reshape(-1)), dim=0), rows.shape)

    def steps(x: Tensor) -> Tensor:
        grid = np.zeros((x._array.size,) * r, np.bool_)
        grid[tuple(rows.T)] = True
        chosen = make_tensor(grid)
        grids = meshgrid([x] * r, indexing="ij")
        return stack([part.masked_select(chosen) for part in grids], 1)

    if thread.stack.autocast is not None:  # which has its say about the last of them
        return steps(input)
    return by_steps("StackBackward0", short, steps, input)
