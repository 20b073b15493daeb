"""The vector instructions of the processor (`torch._inductor.cpu_vec_isa`), as compiled code uses
them.
"""

from __future__ import annotations

import functools

from .. import dtypes as _d
from ..llvm import target as _target


class VecISA:
    """A set of vector instructions; false where there are none."""

    _bit_width = 0
    _name = ""

    def bit_width(self) -> int:
        """The bits of a register."""
        return self._bit_width

    def nelements(self, dtype: _d.dtype = _d.float32) -> int:
        """How many elements a register holds."""
        return self._bit_width // 8 // dtype.itemsize

    def __str__(self) -> str:
        return self._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __bool__(self) -> bool:
        return self._bit_width > 0


class VecAVX2(VecISA):
    """Registers of 256 bits on x86."""

    _bit_width, _name = 256, "avx2"


class VecAVX512(VecISA):
    """Registers of 512 bits on x86."""

    _bit_width, _name = 512, "avx512"


class VecNEON(VecISA):
    """Registers of 128 bits on ARM."""

    _bit_width, _name = 128, "asimd"


class InvalidVecISA(VecISA):
    """No vector instructions: code computes element by element."""

    _name = "INVALID_VEC_ISA"


invalid_vec_isa = InvalidVecISA()
supported_vec_isa_list = [VecAVX512(), VecAVX2(), VecNEON()]


@functools.cache
def valid_vec_isa_list() -> list[VecISA]:
    """The instructions that this processor has, the widest first."""
    host = _target.host()
    return [
        isa
        for isa in supported_vec_isa_list
        if isa.bit_width() <= host.vector_bits and (host.arch == "x86") != isinstance(isa, VecNEON)
    ]


def pick_vec_isa() -> VecISA:
    """The instructions that compiled code uses."""
    return next(iter(valid_vec_isa_list()), invalid_vec_isa)
