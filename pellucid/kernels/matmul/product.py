"""Batches of matrix products in compiled programs: the choice of who computes them, and the code of
small ones.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass

from ...llvm import target
from ...llvm.emit import Function, Module, SSAValue, vector
from . import call as matmul
from . import pairs


@dataclass(frozen=True)
class Product:
    """A batch of matrix products `out[m, n] = a[m, k] @ b[k, n]`, with strides in elements; each
    entry of `batch` is (count, strides of a, b, out).

    The generated kernel computes in float32. float64 (`ctype` "double") is computed by BLAS or as a
    small product. bfloat16 ("bfloat") needs a processor that multiplies it.
    """

    m: int
    n: int
    k: int
    a: tuple[int, int]
    b: tuple[int, int]
    pitch: int
    batch: tuple[tuple[int, int, int, int], ...] = ()
    relu: bool = False
    ctype: str = "float"

    def served(self) -> str | None:
        """Return who computes it: "gemm" (generated), "pairs" (generated, bfloat16), "blas"
        (NumPy's), "small", or None if nothing can.
        """
        if min(self.m, self.n, self.k) < 1 or self.pitch < self.n:
            return None
        good = 1 in self.a and 1 in self.b and min(*self.a, *self.b) > 0
        if self.ctype == "bfloat":
            return (
                "pairs"
                if good and pairs.ready(self.m, self.n) and pairs.gemm_address() is not None
                else None
            )
        work = self.m * self.n * self.k
        # The generated kernel also computes narrow products with enough work for packing, as
        # measured against the two others.
        narrow = self.m >= 3 and self.n >= 8 and self.k >= 16 and work >= 1 << 17
        large = (
            self.m >= 2 and self.n >= 8 and work >= matmul.LARGE and (self.m >= 4 or self.n >= 512)
        )
        if self.ctype == "float" and (
            narrow or large or (self.m >= 4 and self.n >= 32 and self.k >= 16)
        ):
            return "gemm" if good and matmul.gemm_address() is not None else None
        if work <= (1 << 14 if self.ctype == "float" else 1 << 12):
            return "small"
        apart = _rows_apart(self.a, (self.m, self.k)) and _rows_apart(self.b, (self.k, self.n))
        return "blas" if good and apart and blas_address(self.ctype) is not None else None


def _rows_apart(strides: tuple[int, int], shape: tuple[int, int]) -> bool:
    """Return whether the rows of a matrix, or its columns, are contiguous and do not overlap, as
    BLAS requires.
    """
    (row, column), (rows, columns) = strides, shape
    return column == 1 and row >= columns or row == 1 and column >= rows


@functools.cache
def blas_address(ctype: str = "float") -> int | None:
    """Return the address of `cblas_sgemm`, or `cblas_dgemm`, with 64-bit integers in the BLAS that
    NumPy brings; None if NumPy has another BLAS.
    """
    from numpy._core import _multiarray_umath as umath

    try:
        library = ctypes.CDLL(umath.__file__)
        name = f"scipy_cblas_{'s' if ctype == 'float' else 'd'}gemm64_"
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None


# ---- small products -------------------------------------------------------------------------------
def emit_small(module: Module, name: str, p: Product, biased: bool) -> None:
    """Emit a product too small for the blocked kernel: rows of a times columns of b in registers,
    with constant strides.
    """
    f = module.function(name, internal=True, a="ptr", b="ptr", out="ptr", bias="ptr")
    lanes = target.host().lanes(p.ctype)
    width = min(lanes, 1 << max(p.n - 1, 0).bit_length())
    if p.b[1] == 1 or p.n == 1:
        _by_columns(f, p, biased, width)
    else:
        _by_terms(f, p, biased, lanes)
    f.ret()


def _by_columns(f: Function, p: Product, biased: bool, width: int) -> None:
    """Emit the product for contiguous rows of b: vectors of columns, with an accumulator for each
    of up to four rows of a.
    """
    kind = vector(p.ctype, width)
    for start in range(0, p.n, width):
        mask = f.tail_mask(f.const(p.n - start, "i64"), width) if p.n - start < width else None
        first = (
            f.load(kind, f.bias, f.const(start, "i64"), mask=mask) if biased else f.const(0.0, kind)
        )

        def rows(
            i: SSAValue,
            count: int,
            start: int = start,
            mask: SSAValue | None = mask,
            first: SSAValue = first,
        ) -> None:
            totals = [f.var(kind, first) for _ in range(count)]
            with f.loop(0, p.k) as k:
                b = f.load(kind, f.b, k * p.b[0] + start, mask=mask)
                for r, total in enumerate(totals):
                    x = f.load(p.ctype, f.a, (i + r) * p.a[0] + k * p.a[1])
                    total.set(f.fma(f.splat(x, kind), b, total.get()))
            for r, total in enumerate(totals):
                value = total.get()
                if p.relu:
                    value = f.select(value.compare("olt", 0.0), f.const(0.0, kind), value)
                f.store(value, f.out, (i + r) * p.pitch + start, mask=mask)

        whole = p.m - p.m % 4
        with f.loop(0, whole, 4) as i:
            rows(i, 4)
        with f.loop(whole, p.m) as i:
            rows(i, 1)


def _by_terms(f: Function, p: Product, biased: bool, lanes: int) -> None:
    """Emit the product for other layouts of b: a dot product for each element, in vectors of terms
    if both operands are contiguous along them.
    """
    together = p.a[1] == 1 and p.b[0] == 1
    width = min(lanes, 1 << max(p.k - 1, 0).bit_length()) if together else 1
    kind = vector(p.ctype, width)
    with f.loop(0, p.m) as i, f.loop(0, p.n) as j:
        row, column = i * p.a[0], j * p.b[1]
        total = f.var(kind, f.const(0.0, kind))

        def add(k: SSAValue, mask: SSAValue | None) -> None:
            if width > 1:
                x, y = (
                    f.load(kind, f.a, row + k, mask=mask),
                    f.load(kind, f.b, column + k, mask=mask),
                )
            else:
                x, y = (
                    f.load(p.ctype, f.a, row + k * p.a[1]),
                    f.load(p.ctype, f.b, column + k * p.b[0]),
                )
            total.set(f.fma(x, y, total.get()))

        if width > 1:
            f.vector_loop(f.const(p.k, "i64"), width, add)
        else:
            with f.loop(0, p.k) as k:
                add(k, None)
        value = f.total(total.get()) if width > 1 else total.get()
        if biased:
            value = value + f.load(p.ctype, f.bias, j)
        if p.relu:
            value = f.select(value.compare("olt", 0.0), f.const(0.0, p.ctype), value)
        f.store(value, f.out, i * p.pitch + j)
