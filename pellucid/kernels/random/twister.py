"""The Mersenne Twister (Matsumoto and Nishimura, 1998), one vector at a time, working on the state
of NumPy's generator in place.

- `words(state, out, n)`: the next n 32-bit words.
- `uniform24(state, out, n)`: float32 numbers (word mod 2^24) / 2^24.
- `uniform53(state, out, n)`: float64 numbers (draw mod 2^53) / 2^53, where a draw is two words, the
  first one high.
- `normals(state, out, n, mean, std)`: float32 numbers in blocks of 16, as in
  `kernels.random.normal`.
- `exponentials(state, out, n, factor)`: float32 numbers -log(1 - u) * factor of uniform numbers u
  with 53 bits.
- `bernoulli(state, out, n, p)`: float32 ones where such a number u is below p, else zeros; `hits`
  writes the same as bytes.
- `chances(state, out, p, n)`: float32 ones where a number of `uniform24` is below the one of the
  array p. Returns 0, and draws nothing, if one of p is outside of [0, 1].
- `integers(state, out, n, low, span)`: int64 numbers low + word mod span, for spans below 2^31.

The state is NumPy's `mt19937_state`: 624 words of 32 bits, followed by the position of the next one
(NumPy's `mt19937.h`). All functions are None if nothing can be compiled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...llvm import target
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.jit import NativeLibrary
from .normal import boxes, minus_log

__all__ = ["in_blocks", "library", "uniform24", "uniform53", "words"]

SIZE, AHEAD = 624, 397
ROOM = 2 * SIZE  # number of words that are converted at a time


def fresh_block(module: Module, width: int) -> None:
    """Emit the function that computes the next 624 words of the recurrence in place. A word depends
    on itself, the next word, and the one 397 positions further on.
    """
    kind = vector("i32", width)
    f = module.function("twist", internal=True, key="ptr")

    def step(
        at: SSAValue | int,
        far: SSAValue | int,
        mask: SSAValue | None,
        following: SSAValue | None = None,
    ) -> None:
        at, far = f.as_value(at, "i64"), f.as_value(far, "i64")
        own = f.load(kind, f.key, at, mask=mask)
        after = f.load(kind, f.key, at + 1, mask=mask) if following is None else following
        mixed = (own & -0x80000000) | (after & 0x7FFFFFFF)
        half = f.emit(f"lshr {kind} {mixed.name}, {f.const(1, kind).name}", kind)
        odd = (mixed & 1).compare("ne", 0)
        new = (
            f.load(kind, f.key, far, mask=mask)
            ^ half
            ^ f.select(odd, f.const(0x9908B0DF - (1 << 32), kind), f.const(0, kind))
        )
        f.store(new, f.key, at, mask=mask)

    # All words except the last. If the far word is already a new one, it is 227 positions back,
    # which is more than a vector.
    for first, last, shift in ((0, SIZE - AHEAD, AHEAD), (SIZE - AHEAD, SIZE - 1, AHEAD - SIZE)):
        whole = first + (last - first) // width * width
        with f.loop(first, whole, width) as i:
            step(i, i + shift, None)
        if whole != last:
            step(whole, whole + shift, f.tail_mask(f.const(last - whole, "i64"), width))
    one = f.tail_mask(f.const(1, "i64"), width)
    step(SIZE - 1, AHEAD - 1, one, f.load(kind, f.key, mask=one))
    f.ret()


def words(module: Module, width: int) -> None:
    """The function that writes the next `n` words of a generator, tempered, and advances it."""
    kind = vector("i32", width)
    f = module.function("words", state="ptr", out="ptr", n="i64")
    position = f.var("i64", f.extend(f.load("i32", f.state, SIZE), "i64"))
    done = f.var("i64", 0)

    def shifted(value: SSAValue, op: str, by: int) -> SSAValue:
        return f.emit(f"{op} {kind} {value.name}, {f.const(by, kind).name}", kind)

    with f.loop_while() as go_on:
        go_on(done.get().compare("slt", f.n))
        with f.when(position.get().compare("sge", SIZE)):
            f.call("twist", f.state)
            position.set(0)
        count = f.smaller(SIZE - position.get(), f.n - done.get())
        source, out = f.at(f.state, position.get(), "i32"), f.at(f.out, done.get(), "i32")

        def temper(
            i: SSAValue, mask: SSAValue | None, source: SSAValue = source, out: SSAValue = out
        ) -> None:
            y = f.load(kind, source, i, mask=mask)
            y = y ^ shifted(y, "lshr", 11)
            y = y ^ (shifted(y, "shl", 7) & (0x9D2C5680 - (1 << 32)))
            y = y ^ (shifted(y, "shl", 15) & (0xEFC60000 - (1 << 32)))
            f.store(y ^ shifted(y, "lshr", 18), out, i, mask=mask)

        f.vector_loop(count, width, temper)
        position.set(position.get() + count)
        done.set(done.get() + count)
    f.store(f.trunc(position.get(), "i32"), f.state, SIZE)
    f.ret()


def in_blocks(
    module: Module,
    name: str,
    per: int,
    body: Callable[[Function, SSAValue, SSAValue, SSAValue], None],
    **extra: str,
) -> None:
    """Emit a function that converts blocks of words to `n` numbers, each from `per` words: body(f,
    words, first number, count).
    """
    f = module.function(name, state="ptr", out="ptr", n="i64", **extra)
    buffer = f.buffer("i32", ROOM)
    with f.loop(0, f.n, ROOM // per) as first:
        count = f.smaller(f.n - first, ROOM // per)
        f.call("words", f.state, buffer, count * per)
        body(f, buffer, first, count)
    f.ret()


def uniform24(
    f: Function, drawn: SSAValue, i: SSAValue, mask: SSAValue | None, width: int
) -> SSAValue:
    """Return float32 numbers in [0, 1) from words, one each."""
    floats = vector("float", width)
    word = f.load(vector("i32", width), drawn, i, mask=mask) & 0xFFFFFF
    return f.to_float(word, floats) * 2.0**-24


def uniform53(
    f: Function, drawn: SSAValue, i: SSAValue, mask: SSAValue | None, width: int
) -> SSAValue:
    """Return float64 numbers in [0, 1) from words, two each, the first one high."""
    wide = vector("i64", width)
    pair = f.load(wide, drawn, i, mask=mask)
    by = f.const(32, wide)
    low = f.emit(f"lshr {wide} {pair.name}, {by.name}", wide)
    high = f.emit(f"shl {wide} {pair.name}, {by.name}", wide)
    return f.to_float((low | high) & ((1 << 53) - 1), vector("double", width)) * 2.0**-53


def _chances(module: Module, width: int) -> None:
    """Emit `chances`, which checks all probabilities before it draws the first word."""
    floats = vector("float", width)
    f = module.function("chances", "i64", state="ptr", out="ptr", p="ptr", n="i64")
    wrong = f.var(floats, f.const(0, floats))

    def look(i: SSAValue, mask: SSAValue | None) -> None:
        p = f.load(floats, f.p, i, mask=mask)
        fine = p.compare("oge", 0.0) & p.compare("ole", 1.0)
        wrong.set(f.select(fine, wrong.get(), f.const(1, floats)))

    f.vector_loop(f.n, width, look)
    good = f.fold(wrong.get(), f.larger).compare("oeq", 0.0)
    with f.when(good):
        buffer = f.buffer("i32", ROOM)
        with f.loop(0, f.n, ROOM) as first:
            count = f.smaller(f.n - first, ROOM)
            f.call("words", f.state, buffer, count)

            def decide(
                i: SSAValue,
                mask: SSAValue | None,
                first: SSAValue = first,
                buffer: SSAValue = buffer,
            ) -> None:
                hit = uniform24(f, buffer, i, mask, width).compare(
                    "olt", f.load(floats, f.p, first + i, mask=mask)
                )
                one, none = f.const(1, floats), f.const(0, floats)
                f.store(f.select(hit, one, none), f.out, first + i, mask=mask)

            f.vector_loop(count, width, decide)
    f.ret(f.emit(f"zext i1 {good.name} to i64", "i64"))


def _build(name: str) -> str:
    module = Module()
    width = target.host().lanes("float")
    half = width // 2
    wide, doubles = vector("i64", half), vector("double", half)
    fresh_block(module, width)
    words(module, width)

    def uniforms(per: int, f: Function, words: SSAValue, first: SSAValue, count: SSAValue) -> None:
        draw, lanes = (uniform24, width) if per == 1 else (uniform53, half)

        def convert(i: SSAValue, mask: SSAValue | None) -> None:
            f.store(draw(f, words, i, mask, lanes), f.out, first + i, mask=mask)

        f.vector_loop(count, lanes, convert)

    def bernoulli(f: Function, words: SSAValue, first: SSAValue, count: SSAValue) -> None:
        short = vector("float", half)
        limit = f.splat(f.p, doubles)

        def decide(i: SSAValue, mask: SSAValue | None) -> None:
            hit = uniform53(f, words, i, mask, half).compare("olt", limit)
            f.store(
                f.select(hit, f.const(1, short), f.const(0, short)), f.out, first + i, mask=mask
            )

        f.vector_loop(count, half, decide)

    def hits(f: Function, words: SSAValue, first: SSAValue, count: SSAValue) -> None:
        limit = f.splat(f.p, doubles)

        def decide(i: SSAValue, mask: SSAValue | None) -> None:
            hit, bytes_ = (
                uniform53(f, words, i, mask, half).compare("olt", limit),
                vector("i8", half),
            )
            f.store(
                f.emit(f"zext {hit.ctype} {hit.name} to {bytes_}", bytes_),
                f.out,
                first + i,
                mask=mask,
            )

        f.vector_loop(count, half, decide)

    def integers(f: Function, words: SSAValue, first: SSAValue, count: SSAValue) -> None:
        # The quotient of floats is rounded up to a whole number only if it is one: otherwise its
        # distance to the next one is at least 1 / span.
        span, low = f.splat(f.span, wide), f.splat(f.low, wide)
        divisor = f.to_float(span, doubles)

        def reduce(i: SSAValue, mask: SSAValue | None) -> None:
            few = f.load(vector("i32", half), words, i, mask=mask)
            word = f.emit(f"zext {few.ctype} {few.name} to {wide}", wide)
            whole = f.to_int(f.to_float(word, doubles) / divisor, wide)
            f.store(word - whole * span + low, f.out, first + i, mask=mask)

        f.vector_loop(count, half, reduce)

    def normals(f: Function, words: SSAValue, first: SSAValue, count: SSAValue) -> None:
        boxes(f, words, f.at(f.out, first, "float"), 0, count // 16)

    def exponentials(f: Function, words: SSAValue, first: SSAValue, count: SSAValue) -> None:
        factor = f.splat(f.factor, doubles)

        def convert(i: SSAValue, mask: SSAValue | None) -> None:
            value = minus_log(f, uniform53(f, words, i, mask, half), half) * factor
            f.store(f.trunc(value, vector("float", half)), f.out, first + i, mask=mask)

        f.vector_loop(count, half, convert)

    _chances(module, width)
    in_blocks(module, "normals", 1, normals, mean="double", std="double")
    in_blocks(module, "exponentials", 2, exponentials, factor="double")
    in_blocks(module, "uniform24", 1, functools.partial(uniforms, 1))
    in_blocks(module, "uniform53", 2, functools.partial(uniforms, 2))
    in_blocks(module, "bernoulli", 2, bernoulli, p="double")
    in_blocks(module, "hits", 2, hits, p="double")
    in_blocks(module, "integers", 1, integers, low="i64", span="i64")
    return module.text(name)


library = NativeLibrary(
    "mersenne twister",
    _build,
    {
        "words": "pai",
        "uniform24": "pai",
        "uniform53": "pai",
        "bernoulli": "paid",
        "hits": "paid",
        "integers": "paiii",
        "chances": "paai>i",
        "normals": "paidd",
        "exponentials": "paid",
    },
)
