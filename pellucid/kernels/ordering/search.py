"""Where values would go in ascending sequences, for a schedule: binary searches, as many side by
side as a vector has lanes.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...llvm import target, threads
from ...llvm.emit import Function, Module, SSAValue, element, types_of, vector
from ..windows.grid import gathered

__all__ = ["Search", "emit", "share"]

GRAIN = 2048  # values a chunk
_CTYPES = types_of("float32 float64 int64 int32")


@dataclass(frozen=True)
class Search:
    """Sequences of `length`, one for each `each` values, or one for all (0); `right`: behind
    equals, not before them.
    """

    dtype: str
    result: str  # int64 or int32
    length: int
    each: int
    right: bool

    @property
    def served(self) -> bool:
        """Whether there is a kernel for it."""
        return self.dtype in _CTYPES and self.result in ("int64", "int32")


def _less(f: Function, a: SSAValue, b: SSAValue) -> SSAValue:
    """NaN is larger than all others."""
    if element(a.ctype).startswith("i"):
        return a.compare("slt", b)
    return a.compare("olt", b) | (b.compare("uno", b) & a.compare("ord", a))


def emit(module: Module, name: str, s: Search) -> None:
    """`void name(team, sequences, values, out, n, grain)`: n sequences, or n values where there is
    one; vectors of values at a time.
    """
    ctype, result = _CTYPES[s.dtype], _CTYPES[s.result]
    f = threads.parallel_export(
        module, name, {"sequences": "ptr", "values": "ptr", "out": "ptr"}, internal=True
    )
    width = target.host().lanes("double")
    kind, ints = vector(ctype, width), vector("i64", width)

    def find(sequence: SSAValue, first: SSAValue, count: SSAValue | int) -> None:
        values, out = f.at(f.values, first, ctype), f.at(f.out, first, result)

        def some(i: SSAValue, mask: SSAValue | None) -> None:
            x, low = f.load(kind, values, i, mask=mask), f.var(ints, f.const(0, ints))
            known = mask or f.const(1, vector("i1", width))

            def behind(by: SSAValue | int) -> SSAValue:
                at = low.get() + (by if isinstance(by, int) else f.splat(by, ints))
                middle = gathered(f, sequence, at, known, ctype, width)
                return (
                    _less(f, middle, x) ^ f.const(0, known.ctype)
                    if not s.right
                    else _less(f, x, middle) ^ f.const(1, known.ctype)
                )

            size = f.var("i64", s.length)
            with f.loop_while() as go_on:  # the place is among `size` from `low` on, or behind them
                go_on(size.get().compare("sgt", 1))
                half = size.get() >> 1
                low.set(
                    low.get() + f.select(behind(half - 1), f.splat(half, ints), f.const(0, ints))
                )
                size.set(size.get() - half)
            low.set(low.get() + f.select(behind(0), f.const(1, ints), f.const(0, ints)))
            found = low.get() if result == "i64" else f.trunc(low.get(), vector(result, width))
            f.store(found, out, i, mask=mask)

        f.vector_loop(f.as_value(count, "i64"), width, some)

    if s.each:
        with f.loop(f.begin, f.end) as row:
            find(f.at(f.sequences, row * s.length, ctype), row * s.each, s.each)
    else:
        find(f.sequences, f.begin, f.end - f.begin)
    f.ret()


def share(s: Search, values: int) -> tuple[int, int]:
    """The kernel's last arguments."""
    return (values // s.each, max(1, GRAIN // s.each)) if s.each else (values, GRAIN)
