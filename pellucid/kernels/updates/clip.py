"""Gradient clipping in native code: the sum of squares of arrays, scaling by a limit over a norm,
and limits for elements, in float32, float64, float16 and bfloat16.

These are the computations of `nn.utils.clip_grad_norm_` and `clip_grad_value_`, for the schedule of
a compiled step. Two-byte floats are computed in float32 and rounded where the eager functions
round.
"""

from __future__ import annotations

from ...llvm import jit, target, threads
from ...llvm.emit import MEMORY, REGISTER, Function, Module, SSAValue, vector
from ..pointwise.values import available, pack, unpack

__all__ = ["GRAIN", "native"]

# terms that are added in the array's precision before they are added to the sum in double
TERMS = 512
GRAIN = 1 << 15  # elements per chunk
_DTYPES = ("float32", "float64", "float16", "bfloat16")
_SIGNATURES = {"add_squares": "aia", "root": "aa", "scale": "paadii", "limit": "padii"}


class _Elements:
    """How elements of a dtype are held in memory and in registers. Vectors have the width of a
    register.
    """

    def __init__(self, f: Function, dtype: str) -> None:
        self.f, self.dtype, self.memory = f, dtype, MEMORY[dtype]
        self.real = REGISTER[dtype]
        self.width = target.host().lanes(self.real)
        self.kind, self.stored = (vector(t, self.width) for t in (self.real, self.memory))

    def at(self, pointer: SSAValue, index: SSAValue) -> SSAValue:
        return self.f.at(pointer, index, self.memory)

    def load(self, pointer: SSAValue, i: SSAValue, mask: SSAValue | None) -> SSAValue:
        return unpack(self.f, self.f.load(self.stored, pointer, i, mask=mask), self.dtype)

    def store(self, value: SSAValue, pointer: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
        self.f.store(pack(self.f, value, self.dtype), pointer, i, mask=mask)

    def one(self, pointer: SSAValue) -> SSAValue:
        """Load a single element."""
        return unpack(self.f, self.f.load(self.memory, pointer), self.dtype)

    def put(self, value: SSAValue, pointer: SSAValue) -> None:
        self.f.store(pack(self.f, value, self.dtype), pointer)

    def rounded(self, value: SSAValue) -> SSAValue:
        """Round a number to the dtype."""
        return unpack(self.f, pack(self.f, value, self.dtype), self.dtype)


def _add_squares(module: Module, name: str, dtype: str) -> None:
    """Emit the function that adds the squares of n elements to a double."""
    f = module.function(name, a="ptr", n="i64", squares="ptr")
    e = _Elements(f, dtype)
    total = f.var("double", f.load("double", f.squares))
    with f.loop(0, f.n, TERMS) as start:
        part = f.var(e.kind, 0.0)
        here = e.at(f.a, start)

        def add(i: SSAValue, mask: SSAValue | None, part=part, here=here) -> None:
            x = e.load(here, i, mask)
            part.set(f.fma(x, x, part.get()))

        f.vector_loop(f.smaller(f.n - start, TERMS), e.width, add)
        total.set(total.get() + f.extend(f.total(part.get()), "double"))
    f.store(total.get(), f.squares)
    f.ret()


def _root(module: Module, name: str, dtype: str) -> None:
    f = module.function(name, squares="ptr", norm="ptr")
    e = _Elements(f, dtype)
    e.put(f.trunc(f.sqrt(f.load("double", f.squares)), e.real), f.norm)
    f.ret()


def _scale(module: Module, name: str, dtype: str) -> None:
    g = threads.parallel_export(module, name, {"a": "ptr", "norm": "ptr", "limit": "double"})
    e = _Elements(g, dtype)
    limit = g.trunc(g.limit, e.real)
    factor = e.rounded(limit / e.rounded(e.one(g.norm) + e.rounded(g.const(1e-6, e.real))))
    factor = g.select(factor.compare("ult", 1.0), factor, 1.0)  # NaN stays NaN
    with g.when(factor.compare("une", 1.0)):
        wide, first = g.splat(factor, e.kind), e.at(g.a, g.begin)

        def multiply(i: SSAValue, mask: SSAValue | None) -> None:
            e.store(e.load(first, i, mask) * wide, first, i, mask)

        g.vector_loop(g.end - g.begin, e.width, multiply)
    g.ret()


def _limit(module: Module, name: str, dtype: str) -> None:
    g = threads.parallel_export(module, name, {"a": "ptr", "most": "double"})
    e = _Elements(g, dtype)
    most = g.splat(e.rounded(g.trunc(g.most, e.real)), e.kind)
    least, here = -most, e.at(g.a, g.begin)

    def cut(i: SSAValue, mask: SSAValue | None) -> None:  # NaN stays NaN
        x = e.load(here, i, mask)
        x = g.select(x.compare("olt", least), least, x)
        e.store(g.select(x.compare("ogt", most), most, x), here, i, mask)

    g.vector_loop(g.end - g.begin, e.width, cut)
    g.ret()


_EMITTERS = {"add_squares": _add_squares, "root": _root, "scale": _scale, "limit": _limit}


def _build(name: str) -> str:
    module, (function, dtype) = Module(), name.split(".")
    _EMITTERS[function](module, name, dtype)
    return module.text(name)


_lib = jit.NativeLibrary(
    "clip",
    _build,
    {f"{name}.{dtype}": letters for name, letters in _SIGNATURES.items() for dtype in _DTYPES},
)


def native(name: str, dtype: str) -> int | None:
    """Return the address of a native function of this file for a dtype; None if there is none."""
    if dtype not in _DTYPES or not available(dtype):
        return None
    function = getattr(_lib, f"{name}.{dtype}")
    return None if function is None else jit.address(function)
