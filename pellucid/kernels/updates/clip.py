"""Clipping of gradients in native code: the sum of squares of float32 arrays, scaling by a limit
over a norm, limits for elements.

What `nn.utils.clip_grad_norm_` and `clip_grad_value_` do, for the schedule of a compiled step.
"""

from __future__ import annotations

from ...llvm import jit, target, threads
from ...llvm.emit import Module, Value, vector

__all__ = ["GRAIN", "native"]

TERMS = 512  # that are added in float32 before they go to the sum in double
GRAIN = 1 << 15  # elements that a thread scales


def _build(name: str) -> str:
    module = Module()
    width = target.host().lanes("float")
    kind = vector("float", width)

    f = module.function("add_squares", a="ptr", n="i64", squares="ptr")  # one double, of all arrays
    total = f.var("double", f.load("double", f.squares))
    with f.loop(0, f.n, TERMS) as start:
        part = f.var(kind, 0.0)
        here = f.at(f.a, start)

        def add(i: Value, mask: Value | None, part=part, here=here) -> None:
            x = f.load(kind, here, i, mask=mask)
            part.set(f.fma(x, x, part.get()))

        f.vector_loop(f.smaller(f.n - start, TERMS), width, add)
        total.set(total.get() + f.extend(f.total(part.get()), "double"))
    f.store(total.get(), f.squares)
    f.ret()

    f = module.function("root", squares="ptr", norm="ptr")
    f.store(f.trunc(f.sqrt(f.load("double", f.squares)), "float"), f.norm)
    f.ret()

    g = threads.parallel_export(module, "scale", {"a": "ptr", "norm": "ptr", "limit": "double"})
    factor = g.trunc(g.limit, "float") / (g.load("float", g.norm) + 1e-6)
    factor = g.select(factor.compare("ult", 1.0), factor, 1.0)  # no number stays none
    with g.when(factor.compare("une", 1.0)):
        wide, first = g.splat(factor, kind), g.at(g.a, g.begin)

        def multiply(i: Value, mask: Value | None) -> None:
            g.store(g.load(kind, first, i, mask=mask) * wide, first, i, mask=mask)

        g.vector_loop(g.end - g.begin, width, multiply)
    g.ret()

    g = threads.parallel_export(module, "limit", {"a": "ptr", "most": "double"})
    most = g.splat(g.trunc(g.most, "float"), kind)
    least, here = -most, g.at(g.a, g.begin)

    def cut(i: Value, mask: Value | None) -> None:  # no number stays none
        x = g.load(kind, here, i, mask=mask)
        x = g.select(x.compare("olt", least), least, x)
        g.store(g.select(x.compare("ogt", most), most, x), here, i, mask=mask)

    g.vector_loop(g.end - g.begin, width, cut)
    g.ret()
    return module.text(name)


_lib = jit.Library(
    "clip", _build, {"add_squares": "aia", "root": "aa", "scale": "paadii", "limit": "padii"}
)


def native(name: str) -> int | None:
    """The address of a native function of this file; None where it cannot be compiled."""
    function = getattr(_lib, name)
    return None if function is None else jit.address(function)
