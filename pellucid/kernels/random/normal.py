"""Kernels for random fills: normal numbers from random words, shuffling, and choices by weights.

- `transform(words, out, blocks, mean, std)` converts 16 * blocks 32-bit words (uint32) to as many
  float32 normal numbers (`transform_shared` does so in the worker threads), with the blocks and
  polynomials of PyTorch's float32 loops: in each block of 16, the first 8 words give radii and the
  last 8 angles (Box and Muller). Logarithm, sine and cosine are those of Moshier's Cephes library
  in single precision with fused multiply-adds. NumPy's evaluation of the same steps is in
  `core/streams/math.py`, and the two agree.
- `shuffle(steps, order, count)` swaps entry i of the int64 `order` with entry i + steps[i], for
  i = 0 .. count - 2. `permute(words, order, count)` fills `order` with 0 .. count - 1 and does the
  same with the steps word mod (count - i) of 32-bit words.
- `exponential(u, out, n, factor)` converts uniform float64 numbers to -log(1 - u) * factor, rounded
  to float32 once.
- `weights_<type>(p, rows, n)` returns 1 if no number of a matrix is negative, infinite or NaN, and
  each row has one above 0. `search_<type>(p, u, sums, out, rows, n, k)` finds k uniform float64
  numbers for each row in the running sum of its weights divided by their total; `sums` is working
  memory for n numbers. `argmax_<type>(p, out, rows, n)` finds the first largest number of each row;
  NaN counts as larger than all.

All are None if nothing can be compiled.
"""

from __future__ import annotations

import math

from ...llvm import target, threads
from ...llvm.emit import Function, Module, SSAValue, Var, vector
from ...llvm.jit import NativeLibrary

__all__ = ["boxes", "library", "minus_log"]

_FLOATS, _INTS = "<8 x float>", "<8 x i32>"

_LOG = [7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1]
_LOG += [-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1]
_SINE = [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]
_COSINE = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]
# pi / 4 in three parts
_QUARTER_PI = [-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8]


def _uniform(f: Function, words: SSAValue) -> SSAValue:
    return f.to_float(words & 0xFFFFFF, _FLOATS) * 2.0**-24


def _log(f: Function, x: SSAValue) -> SSAValue:
    """Return ln x for normal positive numbers, from x = fraction * 2^exponent with fraction in
    [sqrt(1/2), sqrt(2)).
    """
    bits = f.bitcast(x, _INTS)
    exponent = f.to_float((bits >> 23) - 126, _FLOATS)
    fraction = f.bitcast((bits & 0x007FFFFF) | 0x3F000000, _FLOATS)
    small = fraction.compare("olt", math.sqrt(0.5))
    exponent = exponent - f.select(small, 1.0, f.const(0.0, _FLOATS))
    fraction = (fraction - 1.0) + f.select(small, fraction, 0.0)
    square = fraction * fraction
    value = f.polynomial(fraction, _LOG) * fraction
    value = f.fma(value, square, exponent * -2.12194440e-4)
    value = value - square * 0.5
    return f.fma(exponent, 0.693359375, fraction + value)


def _sine_and_cosine(f: Function, angle: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return sine and cosine of a non-negative angle, reduced to within pi / 4 of a multiple of pi
    / 2.
    """
    octant = (f.to_int(angle * 1.27323954473516, _INTS) + 1) & ~1
    turns = f.to_float(octant, _FLOATS)
    for part in _QUARTER_PI:
        angle = f.fma(turns, part, angle)
    square = angle * angle
    cosine = f.fma(f.polynomial(square, _COSINE) * square, square, square * -0.5) + 1.0
    sine = f.fma(f.polynomial(square, _SINE) * square, angle, angle)
    swap = (octant & 2).compare("ne", 0)
    sine, cosine = f.select(swap, cosine, sine), f.select(swap, sine, cosine)

    def signed(value: SSAValue, quadrant: SSAValue) -> SSAValue:
        return f.bitcast(f.bitcast(value, _INTS) ^ ((quadrant & 4) << 29), _FLOATS)

    return signed(sine, octant), signed(cosine, octant + 2)


def _build(name: str) -> str:
    module = Module()
    f = module.function(
        "transform", words="ptr", out="ptr", blocks="i64", mean="double", std="double"
    )
    _transform(f, 0, f.blocks)
    f = threads.parallel_export(
        module,
        "transform_shared",
        {"words": "ptr", "out": "ptr", "mean": "double", "std": "double"},
    )
    _transform(f, f.begin, f.end)
    f = module.function("shuffle", steps="ptr", order="ptr", count="i64")
    with f.loop(0, f.count - 1) as i:
        other = i + f.load("i64", f.steps, i)
        kept, moved = f.load("i64", f.order, i), f.load("i64", f.order, other)
        f.store(moved, f.order, i)
        f.store(kept, f.order, other)
    f.ret()
    _exponential(module)
    _permute(module)
    for ctype in ("float", "double"):
        _weights(module, ctype)
        _search(module, ctype)
        _argmax(module, ctype)
    return module.text(name)


def _transform(f: Function, begin: SSAValue | int, end: SSAValue) -> None:
    """Emit the conversion of the blocks from `begin` to `end`."""
    boxes(f, f.words, f.out, begin, end)
    f.ret()


def boxes(
    f: Function, words: SSAValue, out: SSAValue, begin: SSAValue | int, end: SSAValue
) -> None:
    """Emit the conversion of blocks of 16 words to normal numbers with mean `f.mean` and deviation
    `f.std`.
    """
    mean, std = (f.splat(f.trunc(value, "float"), _FLOATS) for value in (f.mean, f.std))
    with f.loop(begin, end) as block:
        i = block * 16
        first = _uniform(f, f.load(_INTS, words, i))
        second = _uniform(f, f.load(_INTS, words, i + 8))
        radius = f.sqrt(_log(f, 1.0 - first) * -2.0)
        sine, cosine = _sine_and_cosine(f, second * (2.0 * math.pi))
        f.store(f.fma(radius * cosine, std, mean), out, i)
        f.store(f.fma(radius * sine, std, mean), out, i + 8)


def _exponential(module: Module) -> None:
    f = module.function("exponential", u="ptr", out="ptr", n="i64", factor="double")
    width = target.host().lanes("double")
    kind = vector("double", width)
    factor = f.splat(f.factor, kind)

    def convert(i: SSAValue, mask: SSAValue | None) -> None:
        value = minus_log(f, f.load(kind, f.u, i, mask=mask), width) * factor
        f.store(f.trunc(value, vector("float", width)), f.out, i, mask=mask)

    f.vector_loop(f.n, width, convert)
    f.ret()


def minus_log(f: Function, u: SSAValue, width: int) -> SSAValue:
    """Return -log(1 - u) for uniform numbers. With 1 - u = fraction * 2^exponent, log fraction = 2
    atanh((fraction - 1) / (fraction + 1)); 11 terms of its series suffice for float32.
    """
    kind, ints = vector("double", width), vector("i64", width)
    x = 1.0 - u  # exact, since u has at most 53 bits after the binary point
    bits = f.bitcast(x, ints)
    exponent = f.to_float((bits >> 52) - 1022, kind)
    fraction = f.bitcast((bits & ((1 << 52) - 1)) | (1022 << 52), kind)
    small = fraction.compare("olt", math.sqrt(0.5))
    exponent = exponent - f.select(small, 1.0, f.const(0.0, kind))
    fraction = f.select(small, fraction + fraction, fraction)
    s = (fraction - 1.0) / (fraction + 1.0)
    square = s * s
    series = f.polynomial(square, [2.0 / k for k in range(23, 1, -2)])
    return 0.0 - f.fma(exponent, math.log(2.0), f.fma(series * square, s, s * 2.0))


def _permute(module: Module) -> None:
    f = module.function("permute", words="ptr", order="ptr", count="i64")
    with f.loop(0, f.count) as i:
        f.store(i, f.order, i)
    with f.loop(0, f.count - 1) as i:
        left = f.trunc(f.count - i, "i32")
        step = f.emit(f"urem i32 {f.load('i32', f.words, i).name}, {left.name}", "i32")
        other = i + f.emit(f"zext i32 {step.name} to i64", "i64")
        kept, moved = f.load("i64", f.order, i), f.load("i64", f.order, other)
        f.store(moved, f.order, i)
        f.store(kept, f.order, other)
    f.ret()


def _weights(module: Module, ctype: str) -> None:
    f = module.function(f"weights_{ctype}", "i64", p="ptr", rows="i64", n="i64")
    kind = vector(ctype, target.host().lanes(ctype))
    good = f.var("i1", 1)
    with f.loop(0, f.rows) as row:
        p, largest, wrong = (
            f.at(f.p, row * f.n, ctype),
            f.var(kind, f.const(0, kind)),
            f.var(kind, f.const(0, kind)),
        )

        def look(
            i: SSAValue,
            mask: SSAValue | None,
            p: SSAValue = p,
            largest: Var = largest,
            wrong: Var = wrong,
        ) -> None:
            x = f.load(kind, p, i, mask=mask)
            fine = x.compare("oge", 0.0) & x.compare("olt", math.inf)
            largest.set(f.larger(x, largest.get()))
            wrong.set(f.select(fine, wrong.get(), f.const(1, kind)))

        f.vector_loop(f.n, target.host().lanes(ctype), look)
        here = f.fold(largest.get(), f.larger).compare("ogt", 0.0) & f.fold(
            wrong.get(), f.larger
        ).compare("oeq", 0.0)
        good.set(good.get() & here)
    f.ret(f.emit(f"zext i1 {good.get().name} to i64", "i64"))


def _search(module: Module, ctype: str) -> None:
    f = module.function(
        f"search_{ctype}", p="ptr", u="ptr", sums="ptr", out="ptr", rows="i64", n="i64", k="i64"
    )
    with f.loop(0, f.rows) as row:
        p, total = f.at(f.p, row * f.n, ctype), f.var(ctype, f.const(0, ctype))
        with f.loop(0, f.n) as i:
            total.set(total.get() + f.load(ctype, p, i))
            f.store(total.get(), f.sums, i)
        whole = total.get()
        with f.loop(0, f.n - 1) as i:
            f.store(f.load(ctype, f.sums, i) / whole, f.sums, i)
        f.store(f.const(1, ctype), f.sums, f.n - 1)
        with f.loop(0, f.k) as j:
            u = f.load("double", f.u, row * f.k + j)
            low, size = f.var("i64", 0), f.var("i64", f.n)
            # the result is among `size` positions from `low` on, or the position behind them
            with f.loop_while() as go_on:
                go_on(size.get().compare("sgt", 0))
                half = size.get() // 2
                below = f.extend(f.load(ctype, f.sums, low.get() + half), "double").compare(
                    "olt", u
                )
                low.set(f.select(below, low.get() + half + 1, low.get()))
                size.set(f.select(below, size.get() - half - 1, half))
            f.store(low.get(), f.out, row * f.k + j)
    f.ret()


def _argmax(module: Module, ctype: str) -> None:
    f = module.function(f"argmax_{ctype}", p="ptr", out="ptr", rows="i64", n="i64")
    with f.loop(0, f.rows) as row:
        p, place = f.at(f.p, row * f.n, ctype), f.var("i64", 0)
        best = f.var(ctype, f.load(ctype, p))
        with f.loop(1, f.n) as i:
            x, known = f.load(ctype, p, i), best.get()
            better = x.compare("ogt", known) | (x.compare("uno", x) & known.compare("ord", known))
            best.set(f.select(better, x, known))
            place.set(f.select(better, i, place.get()))
        f.store(place.get(), f.out, row)
    f.ret()


_CHOICES = {"weights": "aii>i", "search": "aaaaiii", "argmax": "aaii"}
library = NativeLibrary(
    "random numbers",
    _build,
    {
        "transform": "aaidd",
        "transform_shared": "paaddii",
        "shuffle": "aai",
        "permute": "aai",
        "exponential": "aaid",
        **{
            f"{name}_{ctype}": kinds
            for name, kinds in _CHOICES.items()
            for ctype in ("float", "double")
        },
    },
)
