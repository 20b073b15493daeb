"""Native code for random draws. They advance the generator's state in place, and turn its words
into the same numbers as eager draws.
"""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import numpy as np

from ...core.streams import mkl as random_mkl
from ...core.streams.generator import Generator
from ...ir import Instruction, Value, ValueRef
from ...ir.program import ITEMSIZE, row_major
from ...kernels.checks import Condition, all_of, require
from ...kernels.indexing.lower import plain, refusal
from ...kernels.lowered import (
    Lowering,
    LoweringContext,
    Native,
    compact,
    copied,
    served,
    steps,
    team,
    value_of,
)
from ...kernels.ordering import order
from ...kernels.pointwise.loop import Access, Loop, PointwiseOp, Write
from ...kernels.pointwise.values import MEMORY, available, is_float, is_half, unpack
from ...kernels.random.normal import library as normals
from ...kernels.random.twister import library as words
from ...kernels.schedule import Address, Schedule
from ...llvm import jit
from ...llvm.emit import Module, types_of

OTHER = "a draw that only the eager fill makes"
LARGEST_SPAN = 1 << 28  # from this span on, an integer takes two words
# from this length on, a permutation takes two words per element
LARGEST_PERMUTATION = (2**32 - 1) // 20


def _arguments(i: Instruction) -> tuple[dict[str, Any], Value]:
    """The arguments of a fill by name, and the value that it fills."""
    function, returned = i.record
    bound = signature(function).bind(*i.params["args"], **i.params["kwargs"])
    bound.apply_defaults()
    return bound.arguments, returned[0]


def _dense(v: Value) -> bool:
    """Whether the elements fill their memory without gaps, in any order of the dimensions. Draws
    follow memory order.
    """
    step = ITEMSIZE[v.dtype]
    for stride, n in sorted((s, n) for s, n in zip(v.strides, v.shape, strict=True) if n > 1):
        if stride != step:
            return False
        step *= n
    return True


def _stream(generator: Any) -> int | None:
    return (
        generator.stream if isinstance(generator, Generator) and words.words is not None else None
    )


def _drawing(schedule: Schedule, ex: LoweringContext, generator: Generator) -> Address:
    """The address of a generator's state. The generator is locked while the schedule runs."""
    if ex.apart:  # for a measurement, which must not advance the stream
        generator = ex.own.setdefault(id(generator), generator.clone_state())
    if all(s is not generator for s in schedule.streams):
        schedule.streams.append(generator)
    return Address("kept", schedule.keep(generator.stream))


def _twister_serves() -> bool:
    """Whether Bernoulli numbers come from the Mersenne Twister, which is the default."""
    return not random_mkl.active()


def _fill(
    i: Instruction, ex: LoweringContext, name: str, out: Value, generator: Any, *numbers: float
) -> Native | str:
    """Draw numbers by a single call of a native function."""
    function = getattr(words, name)
    if _stream(generator) is None or function is None or not out.size or not _dense(out):
        return OTHER

    def emit(schedule: Schedule) -> None:
        if name in ("bernoulli", "hits") and _twister_serves not in ex.before:
            ex.before.append(_twister_serves)
        arguments = [_drawing(schedule, ex, generator), ex.place(out, schedule), out.size, *numbers]
        schedule.native(jit.address(function), arguments, f"{i.op} of {out.size} numbers")

    return Native(emit, f"{i.op} of {out.size}", out.nbytes, 10 * out.size)


def bernoulli(i: Instruction, ex: LoweringContext) -> Native | str:
    """Ones with a probability, as bools (dropout) or float32."""
    given, out = _arguments(i)
    name = {"float32": "bernoulli", "bool": "hits"}.get(out.dtype)
    if name is None or not _twister_serves():
        return OTHER
    return _fill(i, ex, name, out, given["generator"], float(given["p"]))


def uniform(i: Instruction, ex: LoweringContext) -> Native | str:
    """Uniform numbers in a range."""
    given, out = _arguments(i)
    generator, low, high = given["generator"], given["low"], given["high"]
    name = {"float64": "uniform53"}.get(out.dtype, "uniform24")
    if not is_float(out.dtype) or not available(out.dtype):
        return OTHER
    if is_half(out.dtype):
        return _narrow_uniform(i, ex, out, generator, low, high)
    if low == 0.0 and high == 1.0:
        return _fill(i, ex, name, out, generator)
    real = np.dtype(out.dtype).type
    if (
        _stream(generator) is None
        or getattr(words, name) is None
        or not out.size
        or not _dense(out)
        or out.dtype != "float32"
    ):
        return OTHER
    if not (
        math.isfinite(real(low))
        and math.isfinite(real(high))
        and math.isfinite(real(high) - real(low))
        and low < high
    ):
        return OTHER
    # u * (high - low) + low, rounded once: the product of two floats is exact in double.
    span, made = float(real(high) - real(low)), []
    for op, args, kind in (
        ("cast", (("in", 0),), "float64"),
        ("mul", (("step", 0), ("const", span)), "float64"),
        ("add", (("step", 1), ("const", float(real(low)))), "float64"),
        ("cast", (("step", 2),), "float32"),
        ("ge", (("step", 3), ("const", float(real(high)))), "bool"),
        # rounding may reach the excluded upper bound
        ("where", (("step", 4), ("const", float(real(low))), ("step", 3)), "float32"),
    ):
        made.append(PointwiseOp(op, args, kind))
    line = Access(out.dtype, (1,))
    loop = Loop((out.size,), (line,), (), tuple(made), (Write(("step", 5), line),))

    def emit(schedule: Schedule) -> None:
        at, state = ex.place(out, schedule), _drawing(schedule, ex, generator)
        schedule.native(
            jit.address(getattr(words, name)), [state, at, out.size], f"{out.size} uniform numbers"
        )
        schedule.loop(loop, [at, at], title=f"{out.size} numbers from {low:g} to {high:g}")

    return Native(emit, f"uniform of {out.size}", 2 * out.nbytes, 14 * out.size)


def _narrow_uniform(
    i: Instruction, ex: LoweringContext, out: Value, generator: Any, low: float, high: float
) -> Native | str:
    """Two-byte floats in [0, 1): float32 numbers, rounded. Those that become 1 are set to 0."""
    drawn = words.uniform24
    if low != 0.0 or high != 1.0 or drawn is None or _stream(generator) is None:
        return OTHER
    if not out.size or not _dense(out):
        return OTHER
    made = (
        PointwiseOp("cast", (("in", 0),), out.dtype),
        PointwiseOp("ge", (("step", 0), ("const", 1.0)), "bool"),
        PointwiseOp("where", (("step", 1), ("const", 0.0), ("step", 0)), out.dtype),
    )
    write = Write(("step", 2), Access(out.dtype, (1,)))
    loop = Loop((out.size,), (Access("float32", (1,)),), (), made, (write,))

    def emit(schedule: Schedule) -> None:
        room, state = schedule.room(4 * out.size), _drawing(schedule, ex, generator)
        title = f"{out.size} uniform numbers"
        schedule.native(jit.address(drawn), [state, room, out.size], title)
        schedule.loop(loop, [room, ex.place(out, schedule)], title=f"{title}, rounded")

    return Native(emit, f"uniform of {out.size}", 6 * out.size, 10 * out.size)


def bernoulli_like(i: Instruction, ex: LoweringContext) -> Native | str:
    """Ones with the probabilities given by an array."""
    given, out = _arguments(i)
    generator, chances, target = given["generator"], value_of(given["p"]), given["target"]
    wide = isinstance(chances, Value) and chances.dtype == "float64"
    draw = words.uniform53 if wide else words.uniform24
    if (
        _stream(generator) is None
        or draw is None
        or not isinstance(chances, Value)
        or not (wide or chances.dtype == "float32")
    ):
        return OTHER
    if (
        not served(chances, out)
        or not chances.size
        or not out.size
        or not out.contiguous
        or len(chances.shape) > len(out.shape)
    ):
        return OTHER
    if isinstance(target, ValueRef) and not value_of(target).contiguous:
        return OTHER
    count, kind = out.size, chances.dtype
    own = (*(0,) * (len(out.shape) - len(chances.shape)), *steps(chances))
    reads = (Access(kind, row_major(out.shape, 1)), Access(kind, own))
    hit = PointwiseOp("lt", (("in", 0), ("in", 1)), "bool")
    made = (hit,) if out.dtype == "bool" else (hit, PointwiseOp("cast", (("step", 0),), out.dtype))
    loop = Loop(
        out.shape, reads, (), made, (Write(("step", len(made) - 1), Access(out.dtype, steps(out))),)
    )
    condition = Condition(kind)
    good = condition.both(*condition.between(0.0, 1.0))

    def emit(schedule: Schedule) -> None:
        at = ex.place(chances, schedule)
        flag = all_of(
            schedule, [at], chances.shape, (Access(kind, steps(chances)),), condition.steps, good
        )
        require(schedule, flag, i, ex)
        uniform, state = schedule.room(count * ITEMSIZE[kind]), _drawing(schedule, ex, generator)
        schedule.native(jit.address(draw), [state, uniform, count], f"{count} uniform numbers")
        schedule.loop(loop, [uniform, at, ex.place(out, schedule)], title=f"{count} ones and zeros")

    return Native(emit, f"bernoulli of {count}", chances.nbytes + out.nbytes, 12 * count)


def integers(i: Instruction, ex: LoweringContext) -> Native | str:
    """Integers in a range."""
    given, out = _arguments(i)
    low, high = given["low"], given["high"]
    if (
        out.dtype != "int64"
        or type(low) is not int
        or type(high) is not int
        or not 0 < high - low < LARGEST_SPAN
    ):
        return OTHER
    return _fill(i, ex, "integers", out, given["generator"], low, high - low)


def _exponential(
    schedule: Schedule,
    ex: LoweringContext,
    generator: Generator,
    out: Address,
    dtype: str,
    count: int,
    rate: float,
) -> None:
    """-log(1 - u) / rate, in double."""
    if _twister_serves not in ex.before:
        ex.before.append(_twister_serves)
    uniform, title = schedule.room(8 * count), f"{count} exponential numbers"
    state = _drawing(schedule, ex, generator)
    schedule.native(
        jit.address(words.uniform53), [state, uniform, count], f"{count} uniform numbers"
    )
    if dtype == "float32":
        schedule.native(jit.address(normals.exponential), [uniform, out, count, 1.0 / rate], title)
        return
    access, made = Access("float64", (1,)), []
    for op, args in (
        ("neg", (("in", 0),)),
        ("log1p", (("step", 0),)),
        ("mul", (("step", 1), ("const", -1.0 / rate))),
    ):
        made.append(PointwiseOp(op, args, "float64"))
    schedule.loop(
        Loop((count,), (access,), (), tuple(made), (Write(("step", 2), access),)),
        [uniform, out],
        title=title,
    )


def _exponentials_serve(generator: Any, dtype: str) -> bool:
    known = words.uniform53 is not None and normals.exponential is not None
    return (
        known
        and _twister_serves()
        and _stream(generator) is not None
        and dtype in ("float32", "float64")
    )


def exponential(i: Instruction, ex: LoweringContext) -> Native | str:
    """Exponential numbers with a given rate."""
    given, out = _arguments(i)
    generator, rate = given["generator"], float(given["lambd"])
    if not _exponentials_serve(generator, out.dtype) or not out.size or not _dense(out):
        return OTHER

    def emit(schedule: Schedule) -> None:
        _exponential(schedule, ex, generator, ex.place(out, schedule), out.dtype, out.size, rate)

    return Native(emit, f"exponential of {out.size}", 2 * out.nbytes, 40 * out.size)


# ---- normal numbers -------------------------------------------------------------------------------------
def _normals(
    schedule: Schedule,
    ex: LoweringContext,
    generator: Generator,
    out: Address,
    dtype: str,
    count: int,
    mean: float,
    std: float,
) -> None:
    """Box-Muller in blocks of 16. If the count is not a multiple of 16, the last 16 are drawn
    again. Two-byte floats are rounded float32 numbers.
    """
    if dtype == "float64":
        _normals64(schedule, _drawing(schedule, ex, generator), out, count, mean, std)
        return
    made = out if dtype == "float32" else schedule.room(4 * count)
    draw, turn = jit.address(words.words), jit.address(normals.transform)
    state, whole = _drawing(schedule, ex, generator), count // 16 * 16
    schedule.native(draw, [state, made, whole], f"{whole} random words")
    schedule.native(turn, [made, made, whole // 16, mean, std], f"{whole} normal numbers")
    if whole != count:
        spare, last = schedule.room(64), made.at(4 * (count - 16))
        if dtype == "float32":
            schedule.native(draw, [state, spare, count - whole], "words that are left out")
        schedule.native(draw, [state, spare, 16], "16 random words")
        schedule.native(turn, [spare, last, 1, mean, std], "the last 16 normal numbers")
    if made is not out:
        copied(schedule, (count,), made, Access("float32", (1,)), out, Access(dtype, (1,)))


def _normals64(
    schedule: Schedule, state: Address, out: Address, count: int, mean: float, std: float
) -> None:
    """The same in float64, from 53-bit uniforms."""
    draw, whole = jit.address(words.uniform53), count // 16 * 16
    uniform, kind = schedule.room(8 * max(count, 16)), "float64"
    steps_of: list[PointwiseOp] = []

    def step(op: str, *args: Any) -> Any:
        given = tuple(a if isinstance(a, tuple) else ("const", a) for a in args)
        steps_of.append(PointwiseOp(op, given, kind))
        return ("step", len(steps_of) - 1)

    radius = step("sqrt", step("mul", step("log", step("sub", 1.0, ("in", 0))), -2.0))
    angle = step("mul", ("in", 1), 2.0 * math.pi)
    halves = [step("mul", radius, step("cos", angle)), step("mul", radius, step("sin", angle))]
    if std != 1.0 or mean != 0.0:
        halves = [step("mul", half, std) for half in halves]
    if mean != 0.0:
        halves = [step("add", half, mean) for half in halves]

    def blocks(number: int, to: Address) -> None:
        half = Access(kind, (16, 1))
        writes = tuple(Write(made, half) for made in halves)
        loop = Loop((number, 8), (half, half), (), tuple(steps_of), writes)
        places = [uniform, uniform.at(64), to, to.at(64)]
        schedule.loop(loop, places, title=f"{16 * number} normal numbers")

    schedule.native(draw, [state, uniform, count], f"{count} uniform numbers")
    blocks(whole // 16, out)
    if whole != count:
        schedule.native(draw, [state, uniform, 16], "16 uniform numbers")
        blocks(1, out.at(8 * (count - 16)))


def _normals_serve(generator: Any, out: Value) -> bool:
    kernels = words.words is not None and normals.transform is not None
    if not kernels or words.uniform53 is None or _stream(generator) is None:
        return False
    return is_float(out.dtype) and available(out.dtype) and out.contiguous and out.size >= 16


def normal(i: Instruction, ex: LoweringContext) -> Native | str:
    """Normal numbers with a single mean and standard deviation."""
    given, out = _arguments(i)
    generator, mean, std = given["generator"], given["mean"], given["std"]
    if not _normals_serve(generator, out):
        return OTHER

    def emit(schedule: Schedule) -> None:
        at = ex.place(out, schedule)
        _normals(schedule, ex, generator, at, out.dtype, out.size, float(mean), float(std))

    return Native(emit, f"normal of {out.size}", out.nbytes, 40 * out.size)


def _not_negative(module: Module, name: str, size: int, dtype: str) -> None:
    """`i64 name(x)`: 1 if none of the contiguous numbers is negative or NaN."""
    f = module.function(name, "i64", internal=True, x="ptr")
    good = f.var("i1", 1)
    with f.loop(0, size) as k:
        x = unpack(f, f.load(MEMORY[dtype], f.x, k), dtype)
        good.set(good.get() & x.compare("oge", 0.0))
    f.ret(f.emit(f"zext i1 {good.get().name} to i64", "i64"))


def normal_like(i: Instruction, ex: LoweringContext) -> Native | str:
    """Normal numbers with arrays for the mean, the standard deviation, or both."""
    given, out = _arguments(i)
    generator = given["generator"]
    mean, std = map(value_of, (given["mean"], given["std"]))
    arrays = [v for v in (mean, std) if isinstance(v, Value)]
    kind = out.dtype
    if not _normals_serve(generator, out) or any(v.dtype != kind for v in arrays) or not arrays:
        return OTHER
    if isinstance(std, Value) and not std.contiguous:
        return OTHER

    def emit(schedule: Schedule) -> None:
        if isinstance(std, Value):
            size = std.size
            symbol = schedule.function(
                "not_negative",
                (size, kind),
                lambda module, name: _not_negative(module, name, size, kind),
            )
            schedule.require(
                symbol, [ex.place(std, schedule)], refusal(i, ex), f"check of {size} deviations"
            )
        at = ex.place(out, schedule)
        one = 1.0 if isinstance(std, Value) else float(std)
        _normals(schedule, ex, generator, at, kind, out.size, 0.0, one)
        reads, places, made = [Access(kind, steps(out))], [at], []
        value: Any = ("in", 0)
        for op, v in (("mul", std), ("add", mean)):
            if isinstance(v, Value):
                reads.append(Access(kind, (*(0,) * (len(out.shape) - len(v.shape)), *steps(v))))
                places.append(ex.place(v, schedule))
                made.append(PointwiseOp(op, (value, ("in", len(reads) - 1)), kind))
            elif op == "add":
                made.append(PointwiseOp(op, (value, ("const", float(v))), kind))
            else:
                continue
            value = ("step", len(made) - 1)
        loop = Loop(out.shape, tuple(reads), (), tuple(made), (Write(value, reads[0]),))
        schedule.loop(loop, [*places, at], title=f"scaling of {out.size} normal numbers")

    return Native(
        emit, f"normal of {out.size}", 2 * out.nbytes + sum(v.nbytes for v in arrays), 42 * out.size
    )


# ---- choices --------------------------------------------------------------------------------------------
def multinomial(i: Instruction, ex: LoweringContext) -> Native | str:
    """Indices drawn by weights: by searching the running sums, or as the largest quotients of
    weights and exponential numbers.
    """
    given, out = _arguments(i)
    generator, weights = given["generator"], value_of(given["weights"])
    k, n, dtype = int(given["num_samples"]), weights.shape[-1], weights.dtype
    ctype = types_of("float32 float64").get(dtype)
    if (
        ctype is None
        or not plain(weights)
        or not weights.size
        or not out.contiguous
        or not _exponentials_serve(generator, dtype)
    ):
        return OTHER
    valid, search, argmax = (
        getattr(normals, f"{name}_{ctype}") for name in ("weights", "search", "argmax")
    )
    rows, searched, few = weights.size // n, bool(given["replacement"]) and k > 1, k <= order.MOST
    ranked = order.native("largest" if few else "sort", dtype)
    if (
        valid is None
        or search is None
        or argmax is None
        or not searched
        and (k > n or k > 1 and ranked is None)
    ):
        return OTHER
    title = f"{k} of {n} places for {rows} rows"

    def emit(schedule: Schedule) -> None:
        at, to = compact(ex, schedule, weights), ex.place(out, schedule)
        schedule.require(
            jit.address(valid), [at, rows, n], refusal(i, ex), f"check of {weights.size} weights"
        )
        if searched:
            uniform, state = schedule.room(8 * rows * k), _drawing(schedule, ex, generator)
            schedule.native(
                jit.address(words.uniform53),
                [state, uniform, rows * k],
                f"{rows * k} uniform numbers",
            )
            sums = schedule.room(n * ITEMSIZE[dtype])
            schedule.native(jit.address(search), [at, uniform, sums, to, rows, n, k], title)
            return
        ratios, line = schedule.room(weights.nbytes), Access(dtype, (1,))
        _exponential(schedule, ex, generator, ratios, dtype, weights.size, 1.0)
        loop = Loop(
            (weights.size,),
            (line, line),
            (),
            (PointwiseOp("div", (("in", 0), ("in", 1)), dtype),),
            (Write(("step", 0), line),),
        )
        schedule.loop(
            loop, [at, ratios, ratios], title=f"{weights.size} weights over exponential numbers"
        )
        if ranked is None:
            schedule.native(jit.address(argmax), [ratios, to, rows, n], title)
            return
        arguments: list[Any] = [
            ratios,
            schedule.room(ITEMSIZE[dtype] * out.size),
            to,
            *order.numbers(n, k, 1, True, False),
        ]
        arguments.append(schedule.room(order.scratch(n, team(ex), ITEMSIZE[dtype])))
        schedule.native(ranked, ["team", *arguments, rows, max(1, order.GRAIN // n)], title)

    return Native(
        emit, f"multinomial of {rows} rows", weights.nbytes + out.nbytes, 40 * weights.size
    )


def randperm(i: Instruction, ex: LoweringContext) -> Native | str:
    """A permutation, by swaps."""
    given, out = _arguments(i)
    generator, count, permute = given["generator"], int(given["count"]), normals.permute
    if _stream(generator) is None or permute is None or out.dtype != "int64" or not out.contiguous:
        return OTHER
    if not 2 <= count < LARGEST_PERMUTATION:
        return OTHER

    def emit(schedule: Schedule) -> None:
        drawn, state = schedule.room(4 * count), _drawing(schedule, ex, generator)
        schedule.native(
            jit.address(words.words), [state, drawn, count - 1], f"{count - 1} random words"
        )
        schedule.native(
            jit.address(permute), [drawn, ex.place(out, schedule), count], f"permutation of {count}"
        )

    return Native(emit, f"randperm of {count}", 2 * out.nbytes, 4 * count)


LOWERINGS: dict[str, Lowering] = {
    "bernoulli": bernoulli,
    "uniform": uniform,
    "randint": integers,
    "normal": normal,
    "exponential": exponential,
    "normal_like": normal_like,
    "bernoulli_like": bernoulli_like,
    "multinomial": multinomial,
    "randperm": randperm,
}
