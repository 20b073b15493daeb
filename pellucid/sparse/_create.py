"""How sparse tensors are made of indices and values, and what is asked of those."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..arrays.sparse.array import BLOCKED, BY_ROWS, COMPRESSED, SparseArray
from ..core.primitive import TENSORS as F
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor, set_requires_grad
from ..errors import ArgumentTypeError, OperationError, ShapeError, UnsupportedError, warn_once
from ._convert import build
from ._tensor import SparseTensor, is_sparse, wrapped

NAMES = {
    "coo": "Sparse",
    "csr": "SparseCsr",
    "csc": "SparseCsc",
    "bsr": "SparseBsr",
    "bsc": "SparseBsc",
}


def _layout_name(layout: Any) -> str:
    """A layout's name in PyTorch's messages."""
    return NAMES.get(str(layout).removeprefix("torch.sparse_"), "Strided")


class check_sparse_tensor_invariants:  # noqa: N801 (PyTorch's name)
    """Validate the indices of sparse tensors when they are created. Use it as a context manager or
    a decorator, or call `enable` and `disable`.

    Otherwise, indices are validated before their first use, so no operation reads or writes out of
    bounds. With this check, you see mistakes earlier, and compressed indices must be sorted.

    >>> import pellucid as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     try:
    ...         torch.sparse_coo_tensor([[5]], [1.0], (3,))
    ...     except RuntimeError as error:
    ...         print(error)
    size is inconsistent with indices: for dim 0, size is 3 but found index 5
    """

    _enabled: bool | None = None  # None: nobody has said

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are validated at creation."""
        return bool(check_sparse_tensor_invariants._enabled)

    @staticmethod
    def enable() -> None:
        """Validate indices at creation from now on."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable() -> None:
        """Validate indices only before their first use."""
        check_sparse_tensor_invariants._enabled = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for context nesting."
            )
        self.saved_state = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self.saved_state is not None
        check_sparse_tensor_invariants._enabled = self.saved_state
        self.saved_state = None

    def __call__(self, function: Any) -> Any:
        import functools

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def _checks(asked: bool | None) -> bool:
    if asked is not None:
        return bool(asked)
    if check_sparse_tensor_invariants._enabled is None:
        warn_once(
            "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur when operating on a sparse tensor "
            "which violates the invariants, but checks incur performance overhead. To silence this warning, explicitly opt in or out. "
            "See `torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. "
        )
    return check_sparse_tensor_invariants.is_enabled()


def _values(values: Any, dtype: Any) -> Tensor:
    """Values as a tensor, in its own memory where it is one."""
    if isinstance(values, Tensor):
        if is_sparse(values):
            raise OperationError("expected values to have layout Strided, but got layout Sparse")
        return (
            values if dtype is None or values.dtype is dtype else F.cast(values, dtype=dtype.numpy)
        )
    made: Tensor = FUNCTIONS["torch"]["tensor"](values, dtype=dtype)
    return made


def _indices(indices: Any, integer: bool = True) -> Any:
    a = (
        indices._array
        if isinstance(indices, Tensor)
        else FUNCTIONS["torch"]["tensor"](indices)._array
    )
    if integer and (a.dtype != np.int64):
        a = a.astype(np.int64)
    if not integer and a.dtype.kind == "f" and not a.size:
        a = a.astype(np.int64)
    return a


def _size(size: Any) -> tuple[int, ...]:
    return tuple(int(s) for s in size)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """Create a sparse COO tensor from values and their coordinates. Values at the same position are
    added.

    Args:
        indices: integers `(sparse dims, nnz)`.
        values: `(nnz, *dense dims)`; gradients flow through a tensor.
        size: the shape; as small as the indices allow when left out. Given alone, an empty tensor
            of this shape is made.
        check_invariants: whether to validate the indices now. Default: as set by
            `torch.sparse.check_sparse_tensor_invariants`.
        is_coalesced: promise that the indices are sorted and unique.

    Raises:
        RuntimeError: shapes that do not fit together, or indices outside of the shape (if they
            are validated).

    >>> import pellucid as torch
    >>> s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> s.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 5.]])
    """
    if values is None:
        shape = _shape_alone(indices if size is None else size)
        _check_count(shape)
        kind = (dtype or dtypes.get_default_dtype()).numpy
        made = wrapped(
            SparseArray(
                "coo", shape, np.zeros(0, kind), np.zeros((len(shape), 0), np.int64), None, True
            )
        )
        set_requires_grad(made, requires_grad)
        return made
    if size is not None and not isinstance(size, (tuple, list)):
        raise ArgumentTypeError(
            f"sparse_coo_tensor() received an invalid combination of arguments - got ({type(indices).__name__}, "
            f"{type(values).__name__}, {type(size).__name__}), but expected one of:"
        )
    given = _values(values, dtype)
    places, v = _indices(indices), given._array
    if places.ndim != 2:
        raise OperationError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if v.ndim == 0:
        given = given.reshape((1,))
        v = given._array
    if places.shape[1] != v.shape[0]:
        raise OperationError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: {v.shape[0]}"
        )
    if size is None:
        if places.size and places.min() < 0:
            dim = int(np.argmax(places.min(1) < 0))
            raise OperationError(f"found negative index {places[dim].min()} for dim {dim}")
        shape = (
            *((places.max(1) + 1).tolist() if places.shape[1] else [0] * len(places)),
            *v.shape[1:],
        )
    else:
        shape = _size(size)
        if len(shape) != len(places) + v.ndim - 1:
            raise OperationError(
                "'len(size) == sparse_dim + dense_dim' is not satisfied: "
                f"len(size) = {len(shape)}, sparse_dim = {len(places)}, dense_dim = {v.ndim - 1}"
            )
        _check_count(shape)
        expected = (v.shape[0], *shape[len(places) :])
        if v.shape != expected:
            raise OperationError(
                f"values has incorrect size, expected {list(expected)}, got {list(v.shape)}"
            )
    known = v.shape[0] < 2 if is_coalesced is None else bool(is_coalesced)
    pattern = SparseArray("coo", shape, v, places, None, known)
    if _checks(check_invariants):
        check_whole(pattern)
    return _made(pattern, given, "SparseCooTensorWithDimsAndTensors", requires_grad)


def _check_count(shape: tuple[int, ...]) -> None:
    """Refuse a shape whose number of elements is negative or needs more than 64 bits."""
    if any(s < 0 for s in shape) or math.prod(shape) >= 1 << 63:
        raise OperationError("numel: integer multiplication overflow")


def _made(pattern: SparseArray, values: Tensor, name: str, requires_grad: bool) -> Any:
    made = build(pattern, values, name)
    if requires_grad:
        set_requires_grad(made, True)
    return made


def _shape_alone(size: Any) -> tuple[int, ...]:
    if size is None:
        raise ArgumentTypeError(
            "sparse_coo_tensor() received an invalid combination of arguments - got (), but expected one of:",
            hint="give indices and values, or a shape",
        )
    for k, s in enumerate(size):
        if not isinstance(s, (int, np.integer)):
            raise ArgumentTypeError(
                "sparse_coo_tensor(): argument 'size' (position 1) must be tuple of ints, but found element of type "
                f"{type(s).__name__} at pos {k}"
            )
    return _size(size)


# ---- compressed layouts ----------------------------------------------------------------------
def _compressed_tensor(
    layout: str,
    compressed: Any,
    plain: Any,
    values: Any,
    size: Any,
    dtype: Any,
    requires_grad: bool,
    check: bool | None,
) -> Any:
    given = _values(values, dtype)
    starts, others, v = _indices(compressed, False), _indices(plain, False), given._array
    starts, others = (a.astype(np.int64) if a.dtype == np.uint8 else a for a in (starts, others))
    if size is None:
        shape = _estimated(layout, starts, others, v)
    else:
        shape = _size(size)
    if _checks(check):
        _check_invariants(layout, starts, others, v, shape)
    elif (
        starts.ndim == 0
        or others.ndim == 0
        or starts.dtype.kind not in "iu"
        or v.ndim < 1 + 2 * (layout in BLOCKED)
    ):
        _check_invariants(layout, starts, others, v, shape)
    pattern = SparseArray(layout, shape, v, starts, others)
    if not _checks(check):
        _check_invariants(layout, starts, others, v, shape, values_too=False)
    return _made(pattern, given, "SparseCompressedTensor", requires_grad)


def _estimated(layout: str, starts: Any, others: Any, v: Any) -> tuple[int, ...]:
    if others.dtype not in (np.int32, np.int64):
        raise UnsupportedError(
            f"\"estimate_sparse_compressed_tensor_size\" not implemented for '{dtypes.BY_NUMPY[others.dtype].scalar_type_name}'"
        )
    at = starts.ndim
    if layout in BLOCKED and v.ndim < at + 2:
        raise ShapeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={at - 1} + 2) but got {v.ndim}"
        )
    height, width = v.shape[at : at + 2] if layout in BLOCKED else (1, 1)
    lines, most = starts.shape[-1] - 1, int(others.max(initial=-1)) + 1
    rows, columns = (lines, most) if layout in BY_ROWS else (most, lines)
    rest = v.shape[at + 2 :] if layout in BLOCKED else v.shape[at:]
    return (*starts.shape[:-1], rows * height, columns * width, *rest)


def _check_invariants(
    layout: str, starts: Any, others: Any, v: Any, shape: tuple[int, ...], values_too: bool = True
) -> None:
    """PyTorch's invariants of compressed tensors, its sentences, in its order."""
    first, second = ("crow", "col") if layout in BY_ROWS else ("ccol", "row")
    blocked, rows_first = layout in BLOCKED, layout in BY_ROWS
    if starts.ndim < 1:
        raise OperationError(f"{first}_indices must have dimensionality >= 1 but got {starts.ndim}")
    if starts.ndim != others.ndim:
        raise OperationError(
            f"{first}_indices and {second}_indices dimensionalities must be equal but got {starts.ndim} and {others.ndim}, respectively"
        )
    nb = starts.ndim - 1
    if v.ndim <= nb + 2 * blocked:
        raise OperationError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={nb} + {2 * blocked}) but got {v.ndim}"
        )
    dense = v.ndim - nb - 2 * blocked - 1
    if len(shape) != nb + 2 + dense:
        raise OperationError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={nb} + 2 + {dense}) but got {len(shape)}"
        )
    batches = [x.shape[:nb] for x in (starts, others, v)]
    if any(b != shape[:nb] for b in batches):
        raise OperationError(
            f"all batch dimensions of {first}_indices (={list(batches[0])}), {second}_indices (={list(batches[1])}), and values "
            f"(={list(batches[2])}) must be equal to tensor batch dimensions (={list(shape[:nb])})"
        )
    block = v.shape[nb + 1 : nb + 3] if blocked else (1, 1)
    for k in range(2 * blocked):
        if not block[k] or shape[nb + k] % block[k]:
            raise OperationError(
                f"tensor shape[{nb + k}] (={shape[nb + k]}) must be divisible with blocksize[{k}] (={block[k]}) as defined by values shape"
            )
    lines = shape[nb + (not rows_first)] // block[not rows_first]
    if starts.shape[-1] != lines + 1:
        what = ("row" if rows_first else "column") + (" blocks" if blocked else "s")
        raise OperationError(
            f"{first}_indices.shape[-1] must be equal to the number of {what} + 1 (={lines + 1}), but got {starts.shape[-1]}"
        )
    if others.shape[-1] != v.shape[nb]:
        raise OperationError(
            f"{second}_indices.shape[-1] must be equal to nnz (={v.shape[nb]}) as defined by values.shape[{nb}], but got {others.shape[-1]}"
        )
    if starts.dtype != others.dtype:
        a, b = (dtypes.BY_NUMPY[x.dtype].scalar_type_name for x in (starts, others))
        if values_too or starts.dtype.kind not in "iu" or others.dtype.kind not in "iu":
            raise OperationError(
                f"{first}_indices and {second}_indices must have the same dtype, bot got {a} and {b}, respectively"
            )
    if starts.dtype not in (np.int32, np.int64):
        raise OperationError(
            f"{first}_indices and {second}_indices must be an int32 or int64 type, but got {dtypes.BY_NUMPY[starts.dtype].scalar_type_name}"
        )
    if not values_too:
        return
    SparseArray(layout, shape, v, starts, others).sound()
    n = starts.shape[-1] - 1
    for s, o in zip(starts.reshape(-1, n + 1), others.reshape(-1, others.shape[-1]), strict=True):
        line = np.repeat(np.arange(n), np.diff(s))
        if ((line[1:] == line[:-1]) & (o[1:] <= o[:-1])).any():
            raise OperationError(
                f"`{second}_indices[..., {first}_indices[..., i - 1]:{first}_indices[..., i]] for all i = 1, ..., "
                f"{'nrows' if rows_first else 'ncols'} are sorted and distinct along the last dimension values` is not satisfied."
            )


_COMPRESSED_DOC = """A sparse tensor with compressed {lines}{blocks}.

    Args:
        {first}_indices: int32 or int64 `(*batch, {n} + 1)`: where each {line} begins among the values, and the end.
        {second}_indices: `(*batch, nnz)`: the {other} of each {value}.
        values: `(*batch, nnz, {shape}*dense dims)`; gradients flow through a tensor.
        size: the shape; as small as the indices allow when left out.
        check_invariants: whether to validate the indices now. Default: as set by
            `torch.sparse.check_sparse_tensor_invariants`.

    Raises:
        RuntimeError: shapes that do not fit together, or indices outside of the shape (if they are validated).

    >>> import pellucid as torch
    >>> {example}
    >>> s.to_dense()
    tensor([[1., 0.],
            [2., 3.]])
    """


def _maker(layout: str) -> Any:
    by_rows, blocked = layout in BY_ROWS, layout in BLOCKED
    first, second = ("crow", "col") if by_rows else ("ccol", "row")
    line, other = ("row", "column") if by_rows else ("column", "row")
    plain = (
        "[0, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0]"
        if by_rows
        else "[0, 2, 3], [0, 1, 1], [1.0, 2.0, 3.0]"
    )
    example = f"s = torch.sparse_{layout}_tensor({'[0, 1], [0], [[[1.0, 0.0], [2.0, 3.0]]]' if blocked else plain}, (2, 2))"

    def make(
        compressed_indices: Any,
        plain_indices: Any,
        values: Any,
        size: Any = None,
        *,
        dtype: dtypes.dtype | None = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        check_invariants: bool | None = None,
    ) -> Any:
        return _compressed_tensor(
            layout,
            compressed_indices,
            plain_indices,
            values,
            size,
            dtype,
            requires_grad,
            check_invariants,
        )

    # The names of the first two arguments tell the layouts apart.
    scope: dict[str, Any] = {"make": make}
    name = f"sparse_{layout}_tensor"
    exec(
        f"def {name}({first}_indices, {second}_indices, values, size=None, *, dtype=None, device=None, pin_memory=False, "
        f"requires_grad=False, check_invariants=None):\n    return make({first}_indices, {second}_indices, values, size, dtype=dtype, "
        "requires_grad=requires_grad, check_invariants=check_invariants)",
        scope,
    )
    made = scope[name]
    made.__module__ = __name__
    made.__doc__ = _COMPRESSED_DOC.format(
        lines=line + "s",
        blocks=", of blocks" if blocked else "",
        first=first,
        second=second,
        n="blocks of " + line + "s" if blocked else line + "s",
        line=line,
        other=other,
        value="block" if blocked else "value",
        shape="rows of a block, columns of a block, " if blocked else "",
        example=example,
    )
    return made


sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor, sparse_bsc_tensor = map(_maker, COMPRESSED)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Create a sparse tensor in the compressed layout `layout`; see `sparse_csr_tensor` and the
    similar functions.

    Raises:
        RuntimeError: as there, and for a layout that is not compressed.

    >>> import pellucid as torch
    >>> torch.sparse_compressed_tensor([0, 1, 1], [0], [2.0], (2, 2), layout=torch.sparse_csr).to_dense()
    tensor([[2., 0.],
            [0., 0.]])
    """
    name = "" if layout is None else layout.name.removeprefix("sparse_")
    if name not in COMPRESSED:
        got = "none" if layout is None else NAMES.get(name, "Strided")
        raise OperationError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {got}"
        )
    return _compressed_tensor(
        name,
        compressed_indices,
        plain_indices,
        values,
        size,
        dtype,
        requires_grad,
        check_invariants,
    )


def check_whole(a: SparseArray) -> None:
    """Every invariant of a sparse array that comes from outside.

    Raises:
        RuntimeError: one of them does not hold.
    """
    if a.layout != "coo":
        _check_invariants(a.layout, a.indices, a.plain, a.values, a.shape)
        return
    keys = a.keys()
    if a.coalesced and (keys[1:] <= keys[:-1]).any():
        raise OperationError(
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
        )


# ---- empty, and by diagonals -----------------------------------------------------------------
def empty(shape: tuple[int, ...], layout: str, dtype: Any, block: Any = None) -> SparseTensor:
    """A sparse tensor of zeros, of which none is stored."""
    if layout == "coo":
        return wrapped(
            SparseArray(
                "coo", shape, np.zeros(0, dtype), np.zeros((len(shape), 0), np.int64), None, True
            )
        )
    if len(shape) < 2:
        raise OperationError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(shape)}"
        )
    *batch, rows, columns = shape
    height, width = block or (1, 1)
    lines = rows // height if layout in BY_ROWS else columns // width
    inner = (height, width) if layout in BLOCKED else ()
    return wrapped(
        SparseArray(
            layout,
            shape,
            np.zeros((*batch, 0, *inner), dtype),
            np.zeros((*batch, lines + 1), np.int64),
            np.zeros((*batch, 0), np.int64),
        )
    )


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Any:
    """Create a sparse matrix whose diagonals are the rows of `diagonals`, like SciPy's function of
    this name.

    Args:
        diagonals: `(k, n)` or `(n,)`; element j of a row stands in column j.
        offsets: int64 `(k,)`: which diagonal, below the main one where negative.
        shape: (rows, columns). layout: `sparse_coo` (default), `sparse_csc` or `sparse_csr`.

    Raises:
        RuntimeError: the number of offsets differs from the number of diagonals, an offset occurs
            twice, or the layout is another one.

    >>> import pellucid as torch
    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    lines = diagonals.reshape((1, -1)) if diagonals.ndim == 1 else diagonals
    if lines.ndim != 2:
        raise OperationError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise OperationError("Output shape must be 2d")
    if layout is not None and layout not in (
        devices.sparse_coo,
        devices.sparse_csc,
        devices.sparse_csr,
    ):
        raise OperationError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {_layout_name(layout)}"
        )
    where = np.atleast_1d(offsets._array)
    if where.ndim > 1:
        raise OperationError("Offsets must be scalar or vector")
    if len(where) != lines.shape[0]:
        raise OperationError(
            f"Number of diagonals ({lines.shape[0]}) does not match the number of offsets ({len(where)})"
        )
    if len(set(where.tolist())) != len(where):
        raise OperationError("Offset tensor contains duplicate values")
    rows, columns = _size(shape)
    line, column = np.nonzero(np.ones(lines._array.shape, bool))
    row = column - where[line]
    kept = (row >= 0) & (row < rows) & (column < columns)
    line, column, row = line[kept], column[kept], row[kept]
    values = lines[make_tensor(line), make_tensor(column)]
    places = make_tensor(np.stack([row, column]))
    made = sparse_coo_tensor(places, values, (rows, columns), check_invariants=False)
    return made if layout is None or layout is devices.sparse_coo else made.to_sparse(layout=layout)
