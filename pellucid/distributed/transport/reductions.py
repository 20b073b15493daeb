"""Reductions: their names, and how MPI computes them for each dtype."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Any

import numpy as np

from ...dtypes import BY_NUMPY
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, UnsupportedError


class RedOpType(enum.IntEnum):
    """How the ranks' tensors are combined.

    >>> str(RedOpType.SUM)
    'RedOpType.SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {int(self)}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class ReduceOp:
    """`ReduceOp.SUM` and the others.

    >>> from pellucid.distributed import ReduceOp
    >>> ReduceOp.MAX, ReduceOp(ReduceOp.MAX) == ReduceOp.MAX
    (<RedOpType.MAX: 4>, True)
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = RedOpType

    def __init__(self, op: Any) -> None:
        self.op = kind(op)

    def __eq__(self, other: object) -> bool:
        return self.op == (other.op if isinstance(other, ReduceOp) else other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)


def kind(op: Any) -> RedOpType:
    """The member that an argument means."""
    if isinstance(op, ReduceOp):
        return op.op
    if isinstance(op, RedOpType):
        return op
    raise ArgumentTypeError(
        "(): incompatible function arguments. The following argument types are supported:",
        hint=f"op has to be a torch.distributed.ReduceOp, not {op!r}",
    )


_MPI_NAMES = {
    RedOpType.SUM: "SUM",
    RedOpType.AVG: "SUM",
    RedOpType.PRODUCT: "PROD",
    RedOpType.MIN: "MIN",
    RedOpType.MAX: "MAX",
    RedOpType.BAND: "BAND",
    RedOpType.BOR: "BOR",
    RedOpType.BXOR: "BXOR",
}

_UFUNCS: dict[str, Any] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
}


class Reduction:
    """A reduction of arrays of one dtype by MPI.

    Two-byte and smaller floating-point numbers are added in float32 and rounded once; boolean
    values as "or" (SUM, MAX) and "and" (PRODUCT, MIN).

    Raises:
        ValueError (of all-reduces) or RuntimeError: complex numbers have no order, and PyTorch
            multiplies none.
        RuntimeError: bitwise reductions of numbers that are not integers.
    """

    def __init__(self, mpi: Any, name: str, op: Any, dtype: np.dtype[Any], size: int) -> None:
        self.op, self.size, self.dtype = kind(op), size, dtype
        if self.op not in _MPI_NAMES:
            raise UnsupportedError(f"torch.distributed: {name} does not support {self.op}")
        torch_type = BY_NUMPY[dtype]
        if torch_type.is_complex and self.op not in (RedOpType.SUM, RedOpType.AVG):
            refused = ArgumentValueError if name.startswith("all_reduce") else OperationError
            raise refused(f"{name} does not support {self.op} on complex tensors")
        bits = self.op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
        if bits and not torch_type.is_integral:
            raise OperationError(f"Cannot use ReduceOp.{self.op.name} with non-integral dtype")
        self.mpi_op = getattr(mpi, _MPI_NAMES[self.op])
        self.ufunc = _UFUNCS[_MPI_NAMES[self.op]]  # the same for two arrays
        self.carrier = dtype
        if dtype.kind == "b":
            self.carrier = np.dtype(np.uint8)
            logical = {"SUM": mpi.MAX, "PROD": mpi.MIN, "BXOR": mpi.LXOR}
            self.mpi_op = logical.get(_MPI_NAMES[self.op], self.mpi_op)
            self.ufunc = {"SUM": np.maximum, "PROD": np.minimum}.get(
                _MPI_NAMES[self.op], self.ufunc
            )
        elif torch_type.is_floating_point and dtype.itemsize < 4:
            self.carrier = np.dtype(np.float32)
        self.mpi_type = _mpi_type(mpi, self.carrier)

    @property
    def dividing(self) -> bool:
        """Whether the mean is taken by dividing sums, part by part: not of integers, which are
        rounded towards zero.
        """
        return self.op == RedOpType.AVG and self.carrier.kind in "fc"

    def divide(self, part: np.ndarray) -> None:
        """The mean of sums, in place."""
        if self.size & (self.size - 1):
            np.divide(part, self.size, out=part)
        else:  # the same numbers, in less time
            np.multiply(part, 1 / self.size, out=part)

    def carried(self, flat: np.ndarray) -> np.ndarray:
        """The values as MPI reduces them: the array itself, or a copy of another type."""
        if self.carrier is self.dtype or self.carrier == self.dtype:
            return flat
        return flat.view(np.uint8) if self.dtype.kind == "b" else flat.astype(self.carrier)

    def result(self, carried: np.ndarray, divided: bool = False) -> np.ndarray:
        """What the reduced values are, for an array of the own type to take."""
        if self.op == RedOpType.AVG and not divided:
            if carried.dtype.kind in "iu":
                np.floor_divide(
                    carried, self.size, out=carried
                ) if carried.dtype.kind == "u" else _truncate(carried, self.size)
            else:
                self.divide(carried)
        return carried.view(bool) if self.dtype.kind == "b" else carried


@lru_cache(256)
def reduction_of(mpi: Any, name: str, op: RedOpType, dtype: np.dtype[Any], size: int) -> Reduction:
    """The reduction with these arguments; the same one for all calls."""
    return Reduction(mpi, name, op, dtype, size)


def _truncate(values: np.ndarray, size: int) -> None:
    """Divide integers towards zero, in place."""
    signs = np.sign(values)
    np.abs(values, out=values)
    np.floor_divide(values, size, out=values)
    np.multiply(values, signs, out=values)


def _mpi_type(mpi: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return getattr(mpi, f"{'U' if dtype.kind == 'u' else ''}INT{8 * dtype.itemsize}_T")
    return {
        "f4": mpi.FLOAT,
        "f8": mpi.DOUBLE,
        "c8": mpi.C_FLOAT_COMPLEX,
        "c16": mpi.C_DOUBLE_COMPLEX,
    }[dtype.str[1:]]
