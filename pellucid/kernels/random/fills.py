"""Random numbers of every float type, written as they are drawn from the Mersenne Twister.

Functions of `library` are named after what they draw and its type: "uniform.bfloat16".

- `uniform(state, out, n)`: numbers in [0, 1): float64 ones from 53 bits, two-byte floats from
  float32 numbers, where those that round to 1 become 0.
- `normals(state, out, n, mean, std)`: two-byte floats: the numbers of `twister.normals`, rounded.
- `exponentials(state, out, n, factor)`: two-byte floats: those of `twister.exponentials`, rounded.
- `bernoulli(state, out, n, p)`: ones where a number of 53 bits is below p, else zeros.
- `chances(state, out, p, n)`: ones where a number is below the one of the array p: of 53 bits for
  float64, else of 24 bits. Returns 0, and draws nothing, if one of p is outside of [0, 1].

Float32 has its functions in `kernels.random.twister`, and float64 those that need the C library's
logarithm in `kernels.random.draws`. A function is None if it cannot be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...llvm import target
from ...llvm.emit import Function, Module, SSAValue, element, lanes, vector
from ...llvm.jit import NativeLibrary
from ..pointwise.values import available, pack, unpack
from .normal import boxes, minus_log
from .twister import ROOM, fresh_block, in_blocks, uniform24, uniform53, words

__all__ = ["library"]

_DIGITS = {"float16": 11, "bfloat16": 8}
_HALVES = tuple(_DIGITS)
_WORDS = {"float64": "double", **dict.fromkeys(_HALVES, "i16")}


def _put(f: Function, kind: str, made: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
    """Store numbers as the type `kind`."""
    real = "double" if kind == "float64" else "float"
    if element(made.ctype) != real:
        made = f.trunc(made, vector(real, lanes(made.ctype)))
    f.store(pack(f, made, kind), f.out, i, mask=mask)


def _ones(f: Function, kind: str, hit: SSAValue, i: SSAValue, mask: SSAValue | None) -> None:
    real = vector("double" if kind == "float64" else "float", lanes(hit.ctype))
    _put(f, kind, f.select(hit, f.const(1, real), f.const(0, real)), i, mask)


def _uniform(kind: str, width: int, f: Function, *given: SSAValue) -> None:
    drawn, first, count = given

    def convert(i: SSAValue, mask: SSAValue | None) -> None:
        made = uniform24(f, drawn, i, mask, width)
        one = made.compare("oge", 1 - 2.0 ** -(_DIGITS[kind] + 1))  # would be rounded to 1
        _put(f, kind, f.select(one, f.const(0, made.ctype), made), first + i, mask)

    f.vector_loop(count, width, convert)


def _normals(kind: str, width: int, f: Function, *given: SSAValue) -> None:
    drawn, first, count = given
    made = f.buffer("float", ROOM)
    boxes(f, drawn, made, 0, count / 16)
    floats = vector("float", width)
    f.vector_loop(
        count,
        width,
        lambda i, mask: _put(f, kind, f.load(floats, made, i, mask=mask), first + i, mask),
    )


def _exponentials(kind: str, width: int, f: Function, *given: SSAValue) -> None:
    drawn, first, count = given

    def convert(i: SSAValue, mask: SSAValue | None) -> None:
        value = minus_log(f, uniform53(f, drawn, i, mask, width), width)
        _put(f, kind, value * f.splat(f.factor, value.ctype), first + i, mask)

    f.vector_loop(count, width, convert)


def _bernoulli(kind: str, width: int, f: Function, *given: SSAValue) -> None:
    drawn, first, count = given

    def decide(i: SSAValue, mask: SSAValue | None) -> None:
        made = uniform53(f, drawn, i, mask, width)
        _ones(f, kind, made.compare("olt", f.splat(f.p, made.ctype)), first + i, mask)

    f.vector_loop(count, width, decide)


def _chances(module: Module, kind: str, width: int) -> None:
    """Emit `chances`, which checks all probabilities before it draws the first word."""
    f = module.function(f"chances.{kind}", "i64", state="ptr", out="ptr", p="ptr", n="i64")
    double = kind == "float64"
    real = vector("double" if double else "float", width)
    wrong = f.var(real, f.const(0, real))

    def chance(i: SSAValue, mask: SSAValue | None) -> SSAValue:
        return unpack(f, f.load(vector(_WORDS[kind], width), f.p, i, mask=mask), kind)

    def look(i: SSAValue, mask: SSAValue | None) -> None:
        p = chance(i, mask)
        fine = p.compare("oge", 0.0) & p.compare("ole", 1.0)
        wrong.set(f.select(fine, wrong.get(), f.const(1, real)))

    f.vector_loop(f.n, width, look)
    good = f.fold(wrong.get(), f.larger).compare("oeq", 0.0)
    per = 1 + double
    with f.when(good):
        buffer = f.buffer("i32", ROOM)
        with f.loop(0, f.n, ROOM // per) as first:
            count = f.smaller(f.n - first, ROOM // per)
            f.call("words", f.state, buffer, count * per)

            def decide(
                i: SSAValue,
                mask: SSAValue | None,
                first: SSAValue = first,
                buffer: SSAValue = buffer,
            ) -> None:
                made = (uniform53 if double else uniform24)(f, buffer, i, mask, width)
                _ones(f, kind, made.compare("olt", chance(first + i, mask)), first + i, mask)

            f.vector_loop(count, width, decide)
    f.ret(f.emit(f"zext i1 {good.name} to i64", "i64"))


# what is drawn: words for each number, its conversion, its numbers
_FILLS: dict[str, tuple[int, Callable[..., None], dict[str, str]]] = {
    "uniform": (1, _uniform, {}),
    "normals": (1, _normals, {"mean": "double", "std": "double"}),
    "exponentials": (2, _exponentials, {"factor": "double"}),
    "bernoulli": (2, _bernoulli, {"p": "double"}),
}


def _build(symbol: str) -> str:
    name, kind = symbol.split(".")
    if kind == "float16" and not available(kind):
        raise NotImplementedError("the processor does not convert float16")
    module = Module()
    width = target.host().lanes("float")
    fresh_block(module, width)
    words(module, width)
    if name == "chances":
        _chances(module, kind, width // 2 if kind == "float64" else width)
    else:
        per, body, more = _FILLS[name]
        in_blocks(module, symbol, per, functools.partial(body, kind, width // per), **more)
    return module.text(symbol)


library = NativeLibrary(
    "random fills",
    _build,
    {
        **{f"{n}.{k}": "pai" + "d" * len(_FILLS[n][2]) for n in _FILLS for k in _HALVES},
        "bernoulli.float64": "paid",
        **{f"chances.{kind}": "paai>i" for kind in _WORDS},
    },
)
