"""Indices of rows, and where each row begins: from one to the other."""

from __future__ import annotations

import numpy as np

from ..core.inplace import into
from ..core.tensor import Tensor, make_tensor
from ..errors import UnsupportedError


def _integers(x: Tensor, name: str) -> np.ndarray:
    array = x.detach()._array
    if array.dtype.kind not in "iu":
        kind = {
            "f": {2: "Half", 4: "Float", 8: "Double"}.get(array.dtype.itemsize, "Float"),
            "b": "Bool",
        }.get(array.dtype.kind, "Float")
        raise UnsupportedError(f"\"{name}_cpu\" not implemented for '{kind}'")
    return array


def _given(array: np.ndarray, out_int32: bool, out: Tensor | None, name: str) -> Tensor:
    made = make_tensor(
        np.ascontiguousarray(array.astype(np.int32 if out_int32 else np.int64, copy=False))
    )
    return made if out is None else into(out, made, name)


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False, out: Tensor | None = None
) -> Tensor:
    """Where each of `size` rows begins among sorted indices of rows: `(size + 1,)`, the last entry
    the number of indices.

    >>> import pellucid as torch
    >>> torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    rows = _integers(input, "convert_indices_from_coo_to_csr")
    starts = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=size)[:size], out=starts[1:])
    return _given(starts, out_int32, out, "_convert_indices_from_coo_to_csr")


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor,
    col_indices: Tensor,
    *,
    out_int32: bool = False,
    transpose: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Rows and columns `(2, n)` of the elements from where each row begins; with `transpose`
    columns and rows.

    >>> import pellucid as torch
    >>> torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 2, 3]), torch.tensor([1, 2, 0]))
    tensor([[0, 0, 2],
            [1, 2, 0]])
    """
    starts, columns = (
        _integers(x, "convert_indices_from_csr_to_coo") for x in (crow_indices, col_indices)
    )
    if starts.ndim != 1:
        raise UnsupportedError("_convert_indices_from_csr_to_coo is not supported for batches")
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pair = (columns, rows) if transpose else (rows, columns)
    return _given(np.stack(pair), out_int32, out, "_convert_indices_from_csr_to_coo")
