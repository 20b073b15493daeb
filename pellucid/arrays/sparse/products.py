"""Products of sparse arrays, by SciPy's loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array import SparseArray, numbers


def rows(a: SparseArray) -> tuple[Any, Any, Any]:
    """A matrix in compressed rows: the start of each row, the columns, and the values in this
    order.
    """
    a.sound()
    if a.layout == "csr":
        # SciPy's loops take one integer dtype for both.
        kind = np.result_type(a.indices, a.plain)
        return a.indices.astype(kind, copy=False), a.plain.astype(kind, copy=False), a.values
    known = a.known.get("rows")
    if known is None:
        row, column = (i.reshape(-1) for i in a.index())
        keys = numbers((row, column), a.shape)
        order = None if (keys[1:] >= keys[:-1]).all() else np.argsort(keys, kind="stable")
        starts = np.zeros(a.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=a.shape[0]), out=starts[1:])
        known = a.known["rows"] = (
            starts,
            np.ascontiguousarray(column if order is None else column[order]),
            order,
        )
    starts, column, order = known
    values = a.values.reshape(-1)
    return starts, column, values if order is None else values[order]


def _wide(kind: Any) -> Any:
    """The dtype in which products are computed."""
    return kind if kind.char in "fdFDbhilqBHILQ" else np.dtype(np.float32)


def times_dense(a: SparseArray, d: Any, transposed: bool = False, conjugate: bool = False) -> Any:
    """The product of a sparse matrix, or of its transpose, with a dense matrix or vector.
    `conjugate` takes the complex conjugate of the sparse matrix.
    """
    from scipy.sparse import _sparsetools

    n, m = a.shape
    starts, column, values = rows(a)
    kind = _wide(np.result_type(values, d))
    values = np.ascontiguousarray(
        values.conj() if conjugate and values.dtype.kind in "cW" else values, kind
    )
    x = np.ascontiguousarray(d, kind)
    out = np.zeros((m if transposed else n, *d.shape[1:]), kind)
    if out.size and len(values):
        size = (m, n) if transposed else (n, m)
        if d.ndim == 1:
            (_sparsetools.csc_matvec if transposed else _sparsetools.csr_matvec)(
                *size, starts, column, values, x, out
            )
        else:
            loop = _sparsetools.csc_matvecs if transposed else _sparsetools.csr_matvecs
            loop(*size, d.shape[1], starts, column, values, x.reshape(-1), out.reshape(-1))
    return out.astype(d.dtype, copy=False)


_AT_ONCE = 1 << 15  # elements per chunk, so that the gathered rows stay in the processor's caches


def at_places(a: SparseArray, left: Any, right: Any) -> Any:
    """The elements of `left @ right.T` at the positions stored in a sparse matrix, in the shape of
    its values.
    """
    row, column = (i.reshape(-1) for i in a.index())
    kind = _wide(left.dtype)
    left, right = np.ascontiguousarray(left, kind), np.ascontiguousarray(right, kind)
    out = np.empty(len(row), kind)
    step = max(1, _AT_ONCE // max(1, left.shape[1]))
    row_by_row = left.shape[1] >= 32 and kind.char in "fd" and hasattr(np, "vecdot")
    x, y = (np.empty((min(step, len(row)), left.shape[1]), kind) for _ in range(2))
    for k in range(0, len(row), step):
        n = min(step, len(row) - k)
        # The positions have been checked; mode "clip" avoids an intermediate copy.
        left.take(row[k : k + n], 0, x[:n], "clip")
        right.take(column[k : k + n], 0, y[:n], "clip")
        if row_by_row:
            np.vecdot(x[:n], y[:n], out=out[k : k + n])
        else:
            np.einsum("ij,ij->i", x[:n], y[:n], out=out[k : k + n])
    return out.reshape(a.index()[0].shape)


def add_rows(array: Any, rows_of: Any, values: Any, factor: float) -> None:
    """`array[rows_of[k]] += factor * values[k]` for each k in turn, for the rows of a matrix."""
    from scipy.sparse import _sparsetools

    n = len(rows_of)
    plain = array.ndim == 2 and array.dtype.char in "fd" and array.flags.c_contiguous
    if not plain or not n:
        np.add.at(
            array, rows_of, (values * array.dtype.type(factor)).astype(array.dtype, copy=False)
        )
        return
    places = np.ascontiguousarray(rows_of, np.int64)
    weights = np.full(n, factor, array.dtype)
    x = np.ascontiguousarray(values, array.dtype)
    _sparsetools.csc_matvecs(
        len(array),
        n,
        array.shape[1],
        np.arange(n + 1),
        places,
        weights,
        x.reshape(-1),
        array.reshape(-1),
    )


def times_sparse(a: SparseArray, b: SparseArray) -> SparseArray:
    """The product of two sparse matrices, as csr."""
    from scipy.sparse import csr_array

    kind = _wide(np.result_type(a.values, b.values))
    parts = []
    for x in (a, b):
        starts, column, values = rows(x)
        parts.append(csr_array((values.astype(kind), column, starts), shape=x.shape))
    made = parts[0] @ parts[1]
    made.sort_indices()
    return SparseArray(
        "csr",
        made.shape,
        made.data.astype(a.dtype, copy=False),
        made.indptr.astype(np.int64),
        made.indices.astype(np.int64),
    )


def solve_triangular(
    a: SparseArray, b: Any, upper: bool, transpose: bool, unit: bool
) -> np.ndarray:
    """The solution of `a x = b` (with `transpose`, of the transposed `a`); only one triangle of `a`
    is read.
    """
    from scipy.sparse import csr_array, tril, triu
    from scipy.sparse.linalg import spsolve_triangular

    rows = a.to("csr")
    m = csr_array((rows.values, rows.plain, rows.indices), shape=a.shape)
    m = (triu if upper else tril)(m, format="csr")
    if unit:
        m.setdiag(1)
    m = m.T.tocsr() if transpose else m
    made = spsolve_triangular(m, b, lower=upper is transpose, unit_diagonal=unit)
    return np.ascontiguousarray(made, b.dtype)
