"""Random numbers that are drawn one after the other, each with as many words from the generator as
it needs: normal, gamma, Poisson and binomial numbers.

- `normals(state, kept, out, n)`: float64 normal numbers, by the Box-Muller transform.
- `gammas32(state, kept, alpha, out, n)` and `gammas64`: float64 gamma numbers of scale 1 for
  parameters in float32 or float64, by Marsaglia and Tsang's method (2000,
  doi:10.1145/358407.358414). What depends on a parameter alone is computed in its type, as in
  PyTorch.
- `poissons(state, kept, rates, out, n)`: Poisson numbers (float64) of rates that are finite and not
  negative.
- `binomials32(state, kept, trials, chances, logs, tails, out, n)` and `binomials64`: binomial
  numbers (float64) of trials and chances in float32 or float64. `logs` are log(1 - p) of the
  chance or of its complement, whichever is at most 1/2; `tails` are the first ten remainders of
  Stirling's formula.
- `boxes(uniforms, out, n)`: converts blocks of 16 uniform numbers, 8 radii and 8 angles, to normal
  numbers: first all cosines, then all sines. `blocks(state, out, n, mean, std)` draws the uniform
  numbers, too, n in all, and gives the normal numbers their mean and deviation, rounded once.
- `exponentials(state, out, n, factor)`: float64 numbers -log(1 - u) * factor of uniform numbers u.
- `each_log(values, out, n)` etc.: a function of the C library for each number.

Poisson and binomial numbers follow the steps of `core/streams/reject.py`.

The state is NumPy's Mersenne Twister, as for `kernels.random.twister`. `kept` has two doubles: 1
and the second number of the last pair, or 0. Logarithms, sines and cosines are those of the C
library, so that the numbers equal PyTorch's bit by bit. If they are not found, all functions are
None.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...llvm import jit, target
from ...llvm.emit import Function, Module, SSAValue, Var
from .twister import SIZE, fresh_block

__all__ = ["draws"]

_C = ("log", "log1p", "sin", "cos", "exp", "pow", "lgamma")
_LEAST = 5e-324  # what stands for 0 where a logarithm is taken
_SQUEEZE = float(np.float32(0.0331))
_EACH = ("log", "log1p", "sin", "cos")
_SIGNATURES = {
    "normals": "paai",
    "gammas32": "paaai",
    "gammas64": "paaai",
    "poissons": "paaai",
    "binomials32": "paaaaaai",
    "binomials64": "paaaaaai",
    "boxes": "aai",
    "blocks": "paidd",
    "exponentials": "paid",
    **{f"each_{name}": "aai" for name in _EACH},
}
_NEAR = {"lgamma": 1e-12}
_NONE = SimpleNamespace(**dict.fromkeys(_SIGNATURES))


def _word(module: Module) -> None:
    """Emit the function that draws the next word."""
    f = module.function("word", "i64", internal=True, state="ptr")
    position = f.var("i32", f.load("i32", f.state, SIZE))
    with f.when(position.get().compare("sge", SIZE)):
        f.call("twist", f.state)
        position.set(0)
    y = f.load("i32", f.state, f.extend(position.get(), "i64"))
    f.store(position.get() + 1, f.state, SIZE)

    def shifted(op: str, by: int) -> SSAValue:
        return f.emit(f"{op} i32 {y.name}, {by}", "i32")

    y = y ^ shifted("lshr", 11)
    y = y ^ (shifted("shl", 7) & (0x9D2C5680 - (1 << 32)))
    y = y ^ (shifted("shl", 15) & (0xEFC60000 - (1 << 32)))
    y = y ^ shifted("lshr", 18)
    f.ret(f.emit(f"zext i32 {y.name} to i64", "i64"))


def _uniform(module: Module) -> None:
    """Emit the function that draws a number in [0, 1) with 53 bits from two words, the high one
    first.
    """
    f = module.function("uniform", "double", internal=True, state="ptr")
    high = f.call("word", f.state, returns="i64")
    low = f.call("word", f.state, returns="i64")
    assert high is not None and low is not None
    f.ret(f.to_float(((high << 32) | low) & ((1 << 53) - 1), "double") * 2.0**-53)


def _of(f: Function, name: str, *args: SSAValue) -> SSAValue:
    """Emit a call of a function of the C library."""
    f.module.declarations.add(
        f"declare double @pellucid_{name}({', '.join(['double'] * len(args))})"
    )
    made = f.call(f"pellucid_{name}", *args, returns="double")
    assert made is not None
    return made


def _draw(f: Function, name: str = "uniform") -> SSAValue:
    arguments = (f.state, f.kept) if name == "normal" else (f.state,)
    made = f.call(name, *arguments, returns="double")
    assert made is not None
    return made


def _normal(module: Module) -> None:
    """Emit the function that returns the number kept from the last pair, or draws a new pair and
    keeps its second number.
    """
    f = module.function("normal", "double", internal=True, state="ptr", kept="ptr")
    made = f.var("double")

    def take() -> None:
        made.set(f.load("double", f.kept, 1))
        f.store(f.const(0.0, "double"), f.kept)

    def pair() -> None:
        angle = _draw(f) * (2.0 * math.pi)
        radius = f.sqrt(_of(f, "log1p", -_draw(f)) * -2.0)
        made.set(radius * _of(f, "cos", angle))
        f.store(radius * _of(f, "sin", angle), f.kept, 1)
        f.store(f.const(1.0, "double"), f.kept)

    f.branch(f.load("double", f.kept).compare("une", 0.0), take, pair)
    f.ret(made.get())


def _gammas(module: Module, name: str, real: str) -> None:
    third = float(np.float32(1.0) / np.float32(3.0))
    f = module.function(name, state="ptr", kept="ptr", alpha="ptr", out="ptr", n="i64")
    with f.loop(0, f.n) as k:
        alpha = f.load(real, f.alpha, k)
        small = alpha.compare("olt", 1.0)
        d = f.extend(f.select(small, alpha + 1.0, alpha) - third, "double")
        c = f.const(1.0, "double") / f.sqrt(d * 9.0)
        power = f.extend(f.const(1.0, real) / alpha, "double")
        made = f.var("double", 0.0)

        def draw(
            d: SSAValue = d,
            c: SSAValue = c,
            power: SSAValue = power,
            small: SSAValue = small,
            made: Any = made,
        ) -> None:
            scale = f.var("double", 1.0)
            with f.when(small):
                scale.set(_of(f, "pow", 1.0 - _draw(f), power))
            done = f.var("i1", 0)
            with f.loop_while() as rejected:
                rejected(done.get().compare("eq", 0))
                x, y = f.var("double"), f.var("double", -1.0)
                with f.loop_while() as below:
                    below(y.get().compare("ole", 0.0))
                    x.set(_draw(f, "normal"))
                    y.set(c * x.get() + 1.0)
                v = y.get() * y.get() * y.get()
                u = 1.0 - _draw(f)
                xx = x.get() * x.get()
                quick = u.compare("olt", 1.0 - xx * _SQUEEZE * xx)
                done.set(quick)
                with f.when(quick.compare("eq", 0)):
                    bound = xx * 0.5 + d * (1.0 - v + _of(f, "log", v))
                    done.set(_of(f, "log", u).compare("olt", bound))
                made.set(scale.get() * d * v)

        def none(made: Any = made) -> None:
            made.set(math.nan)  # alpha < 0 or NaN

        with f.when(alpha.compare("une", 0.0)):
            f.branch(d.compare("ogt", 0.0), draw, none)
        f.store(made.get(), f.out, k)
    f.ret()


def _floor(f: Function, x: SSAValue) -> SSAValue:
    return f.intrinsic("floor", x.ctype, x)


def _positive(f: Function, x: SSAValue) -> SSAValue:
    return f.select(x.compare("oeq", 0.0), _LEAST, x)


def _poissons(module: Module) -> None:
    f = module.function("poissons", state="ptr", kept="ptr", rates="ptr", out="ptr", n="i64")
    with f.loop(0, f.n) as place:
        rate = f.load("double", f.rates, place)
        made = f.var("double", 0.0)

        def few(rate: SSAValue = rate, made: Var = made) -> None:
            bound = _of(f, "exp", -rate)
            product = f.var("double", _draw(f))
            with f.loop_while() as above:
                above(product.get().compare("ogt", bound))
                made.set(made.get() + 1.0)
                product.set(product.get() * _draw(f))

        def many(rate: SSAValue = rate, made: Var = made) -> None:
            b = f.sqrt(rate) * 2.53 + 0.931
            a = b * 0.02483 + -0.059
            inverse_alpha = f.const(1.1328, "double") / (b - 3.4) + 1.1239
            inside = 0.9277 - f.const(3.6224, "double") / (b - 2.0)
            log_rate, log_alpha = _of(f, "log", rate), _of(f, "log", inverse_alpha)
            done = f.var("i1", 0)

            def likely(k: SSAValue, v: SSAValue, edge: SSAValue) -> None:
                accepted = (
                    _of(f, "log", _positive(f, v))
                    + log_alpha
                    - _of(f, "log", a / (edge * edge) + b)
                )
                bound = -rate + k * log_rate - _of(f, "lgamma", k + 1.0)
                done.set(accepted.compare("ole", bound))

            with f.loop_while() as rejected:
                rejected(done.get().compare("eq", 0))
                u = _draw(f) - 0.5
                v = _draw(f)
                edge = 0.5 - f.fabs(u)
                with f.when(edge.compare("une", 0.0)):
                    k = _floor(f, (a * 2.0 / edge + b) * u + rate + 0.43)
                    made.set(k)
                    quick = edge.compare("oge", 0.07) & v.compare("ole", inside)
                    done.set(quick)
                    never = k.compare("olt", 0.0) | (
                        edge.compare("olt", 0.013) & v.compare("ogt", edge)
                    )
                    with f.when((quick | never).compare("eq", 0)):
                        likely(k, v, edge)

        with f.when(rate.compare("une", 0.0)):
            f.branch(rate.compare("olt", 10.0), few, many)
        f.store(made.get(), f.out, place)
    f.ret()


def _tail(module: Module) -> None:
    """What Stirling's formula for ln(k!) leaves out."""
    f = module.function("tail", "double", internal=True, tails="ptr", k="double")
    square = (f.k + 1.0) * (f.k + 1.0)
    rest = f.const(1.0 / 1260, "double") / square
    made = f.var("double", (1.0 / 12 - (1.0 / 360 - rest) / square) / (f.k + 1.0))
    with f.when(f.k.compare("olt", 10.0)):
        made.set(f.load("double", f.tails, f.to_int(f.k, "i64")))
    f.ret(made.get())


def _binomials(module: Module, name: str, real: str) -> None:
    f = module.function(
        name,
        state="ptr",
        kept="ptr",
        trials="ptr",
        chances="ptr",
        logs="ptr",
        tails="ptr",
        out="ptr",
        n="i64",
    )
    with f.loop(0, f.n) as place:
        n, chance = f.load(real, f.trials, place), f.load(real, f.chances, place)
        flipped = chance.compare("ogt", 0.5)
        p = f.select(flipped, f.trunc(1.0 - f.extend(chance, "double"), real), chance)
        trials, made = f.extend(n, "double"), f.var("double", 0.0)

        def few(trials: SSAValue = trials, made: Var = made, place: SSAValue = place) -> None:
            log_miss = f.load("double", f.logs, place)
            some, total = log_miss.compare("une", 0.0), f.var("double")

            def advance(before: SSAValue) -> None:
                u = _of(f, "log", _positive(f, _draw(f)))
                # a tiny probability: no success among any number of trials
                gap = f.select(some, f.intrinsic("ceil", "double", u / log_miss), math.inf)
                total.set(before + gap)

            advance(f.const(0.0, "double"))
            with f.loop_while() as inside:
                inside(total.get().compare("ule", trials))
                made.set(made.get() + 1.0)
                advance(total.get())

        def many(
            n: SSAValue = n, p: SSAValue = p, trials: SSAValue = trials, made: Var = made
        ) -> None:
            deviation = f.extend(f.sqrt(n * p * (1.0 - p)), "double")
            chance = f.extend(p, "double")
            b = deviation * 2.53 + 1.15
            a = b * 0.0248 + -0.0873 + chance * 0.01
            c = f.extend(n * p, "double") + 0.5
            inside = 0.92 - f.const(4.2, "double") / b
            odds = f.extend(p / (1.0 - p), "double")
            alpha = (f.const(5.1, "double") / b + 2.83) * deviation
            mode = f.extend(_floor(f, (n + 1.0) * p), "double")
            done = f.var("i1", 0)

            def tail(k: SSAValue) -> SSAValue:
                found = f.call("tail", f.tails, k, returns="double")
                assert found is not None
                return found

            def likely(k: SSAValue, v: SSAValue, edge: SSAValue) -> None:
                v = _of(f, "log", _positive(f, v * alpha / (a / (edge * edge) + b)))
                left = trials - mode + 1.0
                bound = (
                    (mode + 0.5) * _of(f, "log", (mode + 1.0) / (odds * left))
                    + (trials + 1.0) * _of(f, "log", left / (trials - k + 1.0))
                    + (k + 0.5) * _of(f, "log", odds * (trials - k + 1.0) / (k + 1.0))
                    + tail(mode)
                    + tail(trials - mode)
                    - tail(k)
                    - tail(trials - k)
                )
                done.set(v.compare("ole", bound))

            with f.loop_while() as rejected:
                rejected(done.get().compare("eq", 0))
                u = _draw(f) - 0.5
                v = _draw(f)
                edge = 0.5 - f.fabs(u)
                with f.when(edge.compare("une", 0.0)):
                    whole = _floor(f, (a * 2.0 / edge + b) * u + c)
                    k = f.extend(f.trunc(whole, real), "double")
                    made.set(k)
                    with f.when(k.compare("uge", 0.0) & k.compare("ule", trials)):
                        quick = edge.compare("oge", 0.07) & v.compare("ole", inside)
                        done.set(quick)
                        with f.when(quick.compare("eq", 0)):
                            likely(k, v, edge)

        def draw(
            n: SSAValue = n,
            p: SSAValue = p,
            trials: SSAValue = trials,
            flipped: SSAValue = flipped,
            few: Any = few,
            many: Any = many,
            made: Var = made,
        ) -> None:
            f.branch((n * p).compare("oge", 10.0), many, few)
            made.set(f.select(flipped, trials - made.get(), made.get()))

        def certain(trials: SSAValue = trials, made: Var = made) -> None:
            made.set(trials)

        def unknown(made: Var = made) -> None:
            made.set(math.nan)

        def possible(chance: SSAValue = chance, draw: Any = draw, unknown: Any = unknown) -> None:
            f.branch(chance.compare("uno", chance), unknown, draw)

        none = n.compare("ole", 0.0) | chance.compare("ole", 0.0)
        with f.when(none.compare("eq", 0)):
            f.branch(chance.compare("oge", 1.0), certain, possible)
        f.store(made.get(), f.out, place)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    fresh_block(module, target.host().lanes("float"))
    _word(module)
    _uniform(module)
    _normal(module)
    f = module.function("normals", state="ptr", kept="ptr", out="ptr", n="i64")
    with f.loop(0, f.n) as i:
        f.store(_draw(f, "normal"), f.out, i)
    f.ret()
    _gammas(module, "gammas32", "float")
    _gammas(module, "gammas64", "double")
    _poissons(module)
    _tail(module)
    _binomials(module, "binomials32", "float")
    _binomials(module, "binomials64", "double")
    f = module.function("boxes", uniforms="ptr", out="ptr", n="i64")
    with f.loop(0, f.n * 8) as i:
        first = i * 2 - (i & 7)
        u = f.load("double", f.uniforms, first)
        radius = f.sqrt(_of(f, "log", f.const(1.0, "double") - u) * -2.0)
        angle = f.load("double", f.uniforms, first + 8) * (2.0 * math.pi)
        f.store(radius * _of(f, "cos", angle), f.out, first)
        f.store(radius * _of(f, "sin", angle), f.out, first + 8)
    f.ret()
    f = module.function("blocks", state="ptr", out="ptr", n="i64", mean="double", std="double")
    with f.loop(0, f.n) as i:
        f.store(_draw(f), f.out, i)
    f.call("boxes", f.out, f.out, f.n / 16)
    with f.loop(0, f.n) as i:
        x = f.load("double", f.out, i)
        # adding a mean of zero would make 0.0 of -0.0
        moved = f.select(f.mean.compare("oeq", 0.0), x * f.std, f.fma(x, f.std, f.mean))
        f.store(moved, f.out, i)
    f.ret()
    f = module.function("exponentials", state="ptr", out="ptr", n="i64", factor="double")
    with f.loop(0, f.n) as i:
        f.store(-_of(f, "log1p", -_draw(f)) * f.factor, f.out, i)
    f.ret()
    for word in _EACH:
        f = module.function(f"each_{word}", values="ptr", out="ptr", n="i64")
        with f.loop(0, f.n) as i:
            f.store(_of(f, word, f.load("double", f.values, i)), f.out, i)
        f.ret()
    return module.text(name)


_library = jit.NativeLibrary("serial draws", _build, _SIGNATURES)


@functools.cache
def draws() -> Any:
    """Return an object with the functions as attributes. They are None if they cannot be compiled,
    or if the C library's functions are not found.
    """
    if not target.available():
        return _NONE
    try:
        library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
        functions = {name: getattr(library, name) for name in _C}
    except (AttributeError, OSError):
        return _NONE
    for name, function in functions.items():
        known = getattr(math, name)
        function.restype, function.argtypes = (
            ctypes.c_double,
            [ctypes.c_double] * (1 + (name == "pow")),
        )
        for x in (0.1, 0.7, 1.3, 5.9):
            arguments = (x, 0.37) if name == "pow" else (x,)
            # Python has a log-gamma function of its own
            if not math.isclose(
                function(*arguments), known(*arguments), rel_tol=_NEAR.get(name, 0)
            ):
                return _NONE
        where = ctypes.cast(function, ctypes.c_void_p).value
        jit.define(f"pellucid_{name}", where or 0)
    return _library
