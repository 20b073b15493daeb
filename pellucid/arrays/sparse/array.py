"""Arrays that store only some of their elements: the storage of sparse tensors and sparse
gradients.

A `SparseArray` consists of ordinary arrays and has an array's properties (shape, dtype, ndim,
size). Code that accesses its memory as if it were dense gets an error. Everything here is NumPy and
knows nothing of tensors; `pellucid.sparse` implements what is differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import OperationError, UnsupportedError, warn_once
from ..meta import Described

COMPRESSED = ("csr", "csc", "bsr", "bsc")
BY_ROWS = ("csr", "bsr")
BLOCKED = ("bsr", "bsc")
BACKENDS = {"": "CPU", "coo": "SparseCPU"} | dict.fromkeys(COMPRESSED, "SparseCsrCPU")

# A function that loads the package of sparse tensors when it is first needed; set by the root
# package.
LENT: list[Callable[[], Any]] = []


def package() -> Any:
    """`pellucid.sparse`. It is in a higher layer than its users here, hence the indirection."""
    return LENT[0]()


def refusal(name: str, layout: str) -> Exception:
    """PyTorch's error for an operation that a layout does not have."""
    return UnsupportedError(
        f"Could not run 'aten::{name}' with arguments from the '{BACKENDS[layout]}' backend. This could be because the operator doesn't "
        "exist for this backend, or was omitted during the selective/custom build process (if using custom build).",
        hint="to_dense() gives a tensor that every operation takes",
    )


_READ_ONLY = np.empty(0)
_READ_ONLY.setflags(write=False)


class SparseArray(Described):
    """The stored elements of an array, and where they stand; the others are zero.

    Slots: `layout` ("coo", "csr", "csc", "bsr", "bsc"), `shape`, `values`, `indices` and `plain`
    (where each value stands), `coalesced` (coo: known to be in order, each place once), `known`
    (what was found out about the places).

        coo    indices (sparse dims, nnz), values (nnz, *dense shape); plain is None
        csr    indices (*batch, rows + 1) where each row begins, plain (*batch, nnz) columns, values (*batch, nnz, *dense shape)
        csc    as csr, with the columns compressed
        bsr    as csr of blocks, values (*batch, nnz, rows of a block, columns of a block, *dense shape)
        bsc    as bsr, with the columns compressed
    """

    device = "cpu"
    __slots__ = ("coalesced", "indices", "known", "layout", "plain", "shape", "values")

    def __init__(
        self,
        layout: str,
        shape: tuple[int, ...],
        values: Any,
        indices: Any,
        plain: Any = None,
        coalesced: bool = False,
    ) -> None:
        if layout in COMPRESSED:
            warn_once(
                f"Sparse {layout.upper()} tensor support is in beta state. If you miss a functionality in the sparse tensor support, "
                "please submit a feature request to https://github.com/pytorch/pytorch/issues.",
                kind="the beta state of compressed layouts",
            )
        self.layout, self.shape, self.values, self.indices, self.plain = (
            layout,
            tuple(shape),
            values,
            indices,
            plain,
        )
        self.coalesced = coalesced
        self.known: dict[str, Any] = {}

    # ---- description -------------------------------------------------------------------------
    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def itemsize(self) -> int:
        return self.values.itemsize

    @property
    def nnz(self) -> int:
        """The number of stored values (or blocks); in a batch, per matrix."""
        return self.indices.shape[1] if self.layout == "coo" else self.plain.shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch of compressed matrices."""
        return () if self.layout == "coo" else self.indices.shape[:-1]

    @property
    def block(self) -> tuple[int, int]:
        """The shape of a block; that of an element is (1, 1)."""
        at = len(self.batch) + 1
        return tuple(self.values.shape[at : at + 2]) if self.layout in BLOCKED else (1, 1)

    @property
    def dense_dim(self) -> int:
        return self.values.ndim - 1 - len(self.batch) - 2 * (self.layout in BLOCKED)

    @property
    def sparse_dim(self) -> int:
        return self.indices.shape[0] if self.layout == "coo" else 2

    base = None
    flags = _READ_ONLY.flags  # read-only, so that backward does not accumulate in place

    def __repr__(self) -> str:
        return f"SparseArray({self.layout}, {self.shape}, nnz={self.nnz}, {self.dtype})"

    # ---- refusals ----------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "xp":  # arrays of other libraries have `xp`
            raise AttributeError(name)
        raise refusal("as_strided" if name == "strides" else name, self.layout)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise refusal("to_dense", self.layout)

    def __array_function__(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(args[0], "__name__", "apply")
        raise refusal({"array_equal": "equal"}.get(name, name), self.layout)

    def __array_ufunc__(
        self, ufunc: Any, how: str, *args: Any, out: Any = (), **kwargs: Any
    ) -> Any:
        """Only sums, by which backward accumulates gradients, and products with a number. Ufuncs
        are recognized by name, since the multi-threaded variants are different objects.
        """
        name = ufunc.__name__
        if how == "__call__" and len(args) == 2 and not kwargs:
            a, b = args
            if name == "add":
                out = out if out and type(out[0]) is np.ndarray else ()
                if not isinstance(b, SparseArray):
                    a, b = b, a
                if isinstance(a, SparseArray):
                    return a.plus(b)
                if isinstance(a, np.ndarray) and a.shape == b.shape:
                    return np.add(a, b.dense(), out=out[0] if out else None)
            if name == "multiply" and not out:
                array, number = (a, b) if isinstance(a, SparseArray) else (b, a)
                if np.ndim(number) == 0 and not isinstance(number, SparseArray):
                    return array.like(ufunc(array.values, number))
        if how == "__call__" and name == "negative" and not out:
            return self.like(-self.values)
        raise refusal(
            {"subtract": "sub", "multiply": "mul", "divide": "div", "absolute": "eq.Tensor"}.get(
                name, name
            ),
            self.layout,
        )

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return np.add(other, self)

    def __len__(self) -> int:
        raise refusal("__len__", self.layout)

    def __getitem__(self, index: Any) -> Any:
        raise refusal("index.Tensor", self.layout)

    def __setitem__(self, index: Any, value: Any) -> Any:
        raise refusal("index_put_", self.layout)

    def __bool__(self) -> bool:
        raise refusal("is_nonzero", self.layout)

    def __iter__(self) -> Any:
        raise refusal("unbind.int", self.layout)

    # ---- others like this one ----------------------------------------------------------------
    def like(self, values: Any) -> SparseArray:
        """An array with other values at the same positions."""
        made = SparseArray(
            self.layout, self.shape, values, self.indices, self.plain, self.coalesced
        )
        made.known = self.known
        return made

    def copy(self) -> SparseArray:
        plain = None if self.plain is None else self.plain.copy()
        return SparseArray(
            self.layout, self.shape, self.values.copy(), self.indices.copy(), plain, self.coalesced
        )

    def astype(self, dtype: Any, **how: Any) -> SparseArray:
        return self.like(self.values.astype(dtype, **how))

    @property
    def real(self) -> SparseArray:
        return self.like(np.ascontiguousarray(self.values.real))

    def tensor(self) -> Any:
        """A sparse tensor with this storage."""
        return package().wrapped(self)

    # ---- places ------------------------------------------------------------------------------
    def keys(self) -> Any:
        """The flat position of each entry of a coo array within the sparse dimensions."""
        return numbers(self.sound().indices, self.shape[: self.sparse_dim])

    def index(self) -> tuple[Any, ...]:
        """Index arrays with the shape of the stored elements: `dense[index]` gives the values."""
        self.sound()
        if self.layout == "coo":
            return tuple(self.indices)
        found = self.known.get("index")
        if found is None:
            n, batch = self.indices.shape[-1] - 1, self.batch
            count = math.prod(batch)
            sizes = np.diff(self.indices.reshape(count, n + 1)).reshape(-1)
            line = np.repeat(np.tile(np.arange(n, dtype=np.int64), count), sizes).reshape(
                self.plain.shape
            )
            row, column = (line, self.plain) if self.layout in BY_ROWS else (self.plain, line)
            row, column = row.astype(np.int64, copy=False), column.astype(np.int64, copy=False)
            before = [
                np.arange(size).reshape(-1, *[1] * (len(batch) - k)) for k, size in enumerate(batch)
            ]
            if self.layout in BLOCKED:
                height, width = self.block
                row = row[..., None, None] * height + np.arange(height)[:, None]
                column = column[..., None, None] * width + np.arange(width)
                before = [b[..., None, None] for b in before]
            found = self.known["index"] = tuple(np.broadcast_arrays(*before, row, column))
        return tuple(found)

    def sound(self) -> SparseArray:
        """Check, once, that all positions are in range, and return this array.

        Raises:
            RuntimeError: a position is out of range.
        """
        if "sound" not in self.known:
            (_check_coo if self.layout == "coo" else _check_compressed)(self)
            self.known["sound"] = True
        return self

    def coalesce(self) -> SparseArray:
        """A coo array sorted by position, with the values of equal positions summed. Compressed
        arrays are returned unchanged.
        """
        if self.coalesced or self.layout != "coo":
            return self
        if self.nnz < 2:
            return SparseArray("coo", self.shape, self.values, self.indices, None, True)
        keys = self.keys()
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], self.values[order]
        starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        if len(starts) < len(keys):
            values = add_up(values, starts)
        return SparseArray("coo", self.shape, values, self.indices[:, order[starts]], None, True)

    def first(self) -> Any:
        """The index of the first entry of each position of a coo array, ordered by position."""
        return np.unique(self.keys(), return_index=True)[1]

    # ---- between layouts ---------------------------------------------------------------------
    def coo(self) -> SparseArray:
        """This array in coordinates; coalesced if it was compressed."""
        if self.layout == "coo":
            return self
        index = self.index()
        values = self.values.reshape(index[0].size, *self.values.shape[index[0].ndim :])
        indices = np.stack([i.reshape(-1) for i in index])
        keys = numbers(indices, self.shape[: len(index)])
        return SparseArray(
            "coo", self.shape, values, indices, None, bool((keys[1:] > keys[:-1]).all())
        ).coalesce()

    def dense(self) -> Any:
        """This array with all elements."""
        a = self.coo()
        # blocks that are whole columns are stored column by column
        columns = self.layout in BLOCKED and self.block == (self.shape[0], 1) != (1, 1)
        out = np.zeros(self.shape, self.dtype, "F" if columns else "C")
        if a.nnz:
            a = a.coalesce()
            out[tuple(a.indices)] = a.values if len(a.indices) else a.values[0]
        return out

    def to(self, layout: str, block: Any = None) -> SparseArray:
        """The same matrix, or batch of matrices, in another layout."""
        if layout == self.layout and (
            layout not in BLOCKED or block is None or tuple(block) == self.block
        ):
            return self
        if layout == "coo":
            return self.coo()
        if self.batch:
            return compress(self.dense(), layout, block, self.dense_dim)
        a = self.coo().coalesce()
        row, column = a.indices
        return _compressed(row, column, a.values, a.shape, layout, block)

    # ---- arithmetic --------------------------------------------------------------------------
    def plus(self, other: SparseArray) -> SparseArray:
        """The sum of two sparse arrays of one shape."""
        if self.layout != other.layout or self.shape != other.shape:
            return self.coo().plus(other.coo()).to(self.layout, self.block)
        if self.indices is other.indices and self.plain is other.plain:
            return self.like(self.values + other.values)
        if self.layout != "coo":
            return self.coo().plus(other.coo()).to(self.layout, self.block)
        dtype = np.result_type(self.values, other.values)
        a, b = (matched(x, min(self.sparse_dim, other.sparse_dim)) for x in (self, other))
        values = np.concatenate(
            [a.values.astype(dtype, copy=False), b.values.astype(dtype, copy=False)]
        )
        indices, keys = np.concatenate([a.indices, b.indices], 1), [a.keys(), b.keys()]
        if any((k[1:] < k[:-1]).any() for k in keys):
            return SparseArray("coo", self.shape, values, indices)
        # Merge two sorted lists. A position that occurs in both (for the first time, the second
        # time, ...) appears once.
        turns = [np.arange(len(k)) - np.searchsorted(k, k) for k in keys]
        key, turn = np.concatenate(keys), np.concatenate(turns)
        order = np.lexsort((turn, key))
        key, turn = key[order], turn[order]
        starts = (
            np.flatnonzero(
                np.concatenate([[True], (key[1:] != key[:-1]) | (turn[1:] != turn[:-1])])
            )
            if len(key)
            else order
        )
        coalesced = self.coalesced and other.coalesced
        return SparseArray(
            "coo",
            self.shape,
            add_up(values[order], starts),
            indices[:, order[starts]],
            None,
            coalesced,
        )

    def __mul__(self, number: Any) -> Any:
        return np.multiply(self, number)

    def __rmul__(self, number: Any) -> Any:
        return np.multiply(self, number)

    def __neg__(self) -> Any:
        return np.negative(self)

    def at(self, other: SparseArray) -> Any:
        """The values at the positions of another array of this shape; zero where none is stored."""
        index = other.index()
        a = matched(self.coo(), len(index)).coalesce()
        keys, wanted = a.keys(), numbers([i.reshape(-1) for i in index], self.shape[: len(index)])
        values = np.zeros((len(wanted), *a.values.shape[1:]), self.dtype)
        if len(keys):
            found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = keys[found] == wanted
            values[hit] = a.values[found[hit]]
        shape = other.indices.shape[1:] if other.layout == "coo" else index[0].shape
        return values.reshape(*shape, *a.values.shape[1:])


def _check_coo(a: SparseArray) -> None:
    if not a.indices.size:
        return
    for dim, (low, high) in enumerate(
        zip(a.indices.min(1).tolist(), a.indices.max(1).tolist(), strict=True)
    ):
        if low < 0:
            raise OperationError(f"found negative index {low} for dim {dim}")
        if high >= a.shape[dim]:
            raise OperationError(
                f"size is inconsistent with indices: for dim {dim}, size is {a.shape[dim]} but found index {high}"
            )


def _check_compressed(a: SparseArray) -> None:
    first, second = ("crow", "col") if a.layout in BY_ROWS else ("ccol", "row")
    others = "ncols" if a.layout in BY_ROWS else "nrows"
    nb = len(a.batch)
    size = a.shape[nb + (a.layout in BY_ROWS)] // a.block[a.layout in BY_ROWS]
    starts, nnz = a.indices, a.plain.shape[-1]
    if (starts[..., 0] != 0).any():
        raise OperationError(f"`{first}_indices[..., 0] == 0` is not satisfied.")
    if (starts[..., -1] != nnz).any():
        raise OperationError(f"`{first}_indices[..., -1] == nnz` is not satisfied.")
    steps = np.diff(starts)
    if (steps < 0).any() or (steps > size).any():
        raise OperationError(
            f"`0 <= {first}_indices[..., 1:] - {first}_indices[..., :-1] <= {others}` is not satisfied."
        )
    if a.plain.size and (a.plain.min() < 0 or a.plain.max() >= size):
        raise OperationError(f"`0 <= {second}_indices < {others}` is not satisfied.")


def numbers(indices: Any, shape: tuple[int, ...]) -> Any:
    """The flat position of each column of `indices` (dims, nnz) in row-major order."""
    keys = np.zeros(len(indices[0]) if len(indices) else np.shape(indices)[1], np.int64)
    for line, size in zip(indices, shape, strict=True):
        keys = keys * size + line
    return keys


def add_up(values: Any, starts: Any) -> Any:
    """Sums of runs of consecutive values; `starts` are the first indices of the runs."""
    return np.add.reduceat(values, starts, 0, dtype=values.dtype) if len(starts) else values[:0]


def matched(a: SparseArray, sparse_dim: int) -> SparseArray:
    """A coo array converted so that its first `sparse_dim` dimensions are the sparse ones."""
    if a.sparse_dim == sparse_dim:
        return a
    return from_dense(a.dense(), sparse_dim)


def from_dense(array: Any, sparse_dim: int) -> SparseArray:
    """The nonzero elements in coordinates. With dense dimensions, the slices that have a nonzero
    element.
    """
    dense = tuple(range(sparse_dim, array.ndim))
    mask = array != 0
    if dense:
        mask = mask.any(dense)
    found = np.nonzero(np.atleast_1d(mask)) if sparse_dim else (np.nonzero(np.atleast_1d(mask))[0],)
    if sparse_dim == 0:
        kept = array[None] if mask.any() else array[None][:0]
        return SparseArray(
            "coo", array.shape, kept.copy(), np.zeros((0, len(kept)), np.int64), None, True
        )
    return SparseArray(
        "coo", array.shape, array[found], np.stack(found).astype(np.int64), None, True
    )


def _compressed(
    row: Any, column: Any, values: Any, shape: tuple[int, ...], layout: str, block: Any
) -> SparseArray:
    """Compress elements that are given in row-major order without repetition."""
    rows, columns = shape[0], shape[1]
    if layout in BLOCKED:
        height, width = block
        down, across = rows // height, columns // width
        keys = (row // height) * across + column // width
        if layout == "bsc":
            keys = (column // width) * down + row // height
        blocks, place = np.unique(keys, return_inverse=True)
        made = np.zeros((len(blocks), height, width, *values.shape[1:]), values.dtype)
        made[place, row % height, column % width] = values
        lines, others = (down, across) if layout == "bsr" else (across, down)
        line, other = np.divmod(blocks, max(others, 1))
        values = made
    elif layout == "csr":
        line, other, lines = row, column, rows
    else:
        order = np.argsort(column, kind="stable")
        line, other, values, lines = column[order], row[order], values[order], columns
    starts = np.zeros(lines + 1, np.int64)
    np.cumsum(np.bincount(line, minlength=lines), out=starts[1:])
    return SparseArray(layout, shape, values, starts, np.ascontiguousarray(other))


def compress(array: Any, layout: str, block: Any = None, dense_dim: int = 0) -> SparseArray:
    """A dense matrix, or a batch of them, in a compressed layout. All matrices of a batch must have
    the same number of nonzero elements (or blocks).
    """
    nb = array.ndim - 2 - dense_dim
    rows, columns = array.shape[nb : nb + 2]
    batch, rest = array.shape[:nb], array.shape[nb + 2 :]
    parts = []
    matrices = array.reshape(math.prod(batch), rows, columns, *rest)
    for matrix in matrices if len(matrices) else np.zeros((1, rows, columns, *rest), array.dtype):
        a = from_dense(matrix, 2)
        parts.append(_compressed(a.indices[0], a.indices[1], a.values, matrix.shape, layout, block))
    if not nb:
        return parts[0]
    if len({p.nnz for p in parts}) > 1:
        raise ValueError("nnz")
    values, starts, plain = (
        np.stack([getattr(p, name) for p in parts])[: len(matrices)]
        for name in ("values", "indices", "plain")
    )
    values, starts, plain = (x.reshape(*batch, *x.shape[1:]) for x in (values, starts, plain))
    return SparseArray(layout, array.shape, values, starts, plain)
