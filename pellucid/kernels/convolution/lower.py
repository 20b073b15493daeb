"""Lowerings of convolution, its gradients and pooling: the native calls that eager execution makes,
on the memory of the compiled step.

Plans hold addresses of tables, so the schedule keeps the plans alive. Weights are laid out again at
each call, since an update may have changed them. Working memory is shared by all calls of a
schedule, and is sized for the number of threads at compile time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...ir import Instruction, Value
from ...ir.program import ITEMSIZE, row_major
from ...llvm import jit, threads
from ...llvm.emit import types_of
from ..lowered import (
    FLOAT,
    OTHER,
    Handed,
    InFloat32,
    Lowering,
    LoweringContext,
    Native,
    compact,
    copied,
    dense,
    places,
    room,
    served,
    steps,
    strided,
    team,
    value_of,
)
from ..pointwise.loop import Access, Loop, PointwiseOp, Write
from ..pooling import call as pool
from ..pooling import direct as pool_direct
from ..schedule import Address, Schedule
from . import call as conv
from . import lanes as conv_lanes
from . import products as conv_products
from . import tiles as conv_kernels
from . import weight as conv_weight
from . import winograd as conv_winograd
from . import winograd_weight as conv_winograd_weight
from .geometry import ConvGeometry, conv_geometry

DESCRIPTION = ("stride", "padding", "dilation", "groups")


_REALS = types_of("float32 float64")


def _serves(*values: Any, dtypes: Sequence[str] = tuple(_REALS)) -> bool:
    """Return whether these are non-empty values of one of the dtypes. Views are allowed: they are
    copied first.
    """
    first = values[0]
    if not isinstance(first, Value) or first.dtype not in dtypes:
        return False
    return all(
        isinstance(v, Value)
        and v.dtype == first.dtype
        and v.size
        and not any(s % ITEMSIZE[v.dtype] for s in v.strides)
        for v in values
    )


def _table(schedule: Schedule, address: int) -> Address:
    return Address("kept", schedule.keep(address))


def _described(i: Instruction) -> tuple[Any, ...]:
    return tuple(i.params[name] for name in DESCRIPTION)


def _title(what: str, geo: ConvGeometry) -> str:
    return f"{what} of {'x'.join(map(str, geo.x_shape))} by {'x'.join(map(str, geo.w_shape))}"


# ---- forward and the gradient in the input -------------------------------------------------------------
def convolution(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower a convolution: lay out the weights, then make one call (or one per band of pixels)."""
    x, w, bias = i.inputs
    out = i.outputs[0]
    if not _serves(x, w) or not dense(bias, dtype=x.dtype) or not strided(out, dtype=x.dtype):
        return OTHER
    geo = conv_geometry(x.shape, w.shape, *_described(i))
    plans = conv.forward_plans(_REALS[x.dtype], x.shape, w.shape, *_described(i))
    return _correlation(ex, "convolution", geo, _both(ex, x, w), bias, out, *plans)


def input_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the input gradient, which is a convolution itself."""
    g, w = i.inputs
    out = i.outputs[0]
    if not _serves(g, w) or not dense(out, dtype=g.dtype):
        return OTHER
    args = (tuple(i.params["x_shape"]), *_described(i))
    geo = conv_geometry(args[0], w.shape, *args[1:])
    plans = conv.input_grad_plans(_REALS[g.dtype], g.shape, w.shape, *args)
    return _correlation(ex, "convolution's input gradient", geo, _both(ex, g, w), None, out, *plans)


Operands = Callable[[Schedule], tuple[Address, Address]]


def _both(ex: LoweringContext, x: Value, w: Value) -> Operands:
    return lambda schedule: (compact(ex, schedule, x), compact(ex, schedule, w))


def _correlation(
    ex: LoweringContext,
    what: str,
    geo: ConvGeometry,
    given: Operands,
    bias: Value | None,
    out: Value,
    plans: conv.Plans | None,
    other: Any,
) -> Native | str:
    if plans is None or not out.size:
        return OTHER
    title = _title(what, geo)

    def emit(schedule: Schedule) -> None:
        operands = given(schedule)
        biased, result = places(ex, schedule, bias, out)
        images, count = geo.x_shape[0], team(ex)
        assert plans is not None and result is not None
        target = result
        if not out.contiguous:
            result = room(schedule, out.size, out.dtype)
        if isinstance(other, conv_winograd.WinogradPlan):
            with _by_winograd(schedule, other, *operands, biased, result, images, count, title):
                _by_pixels(schedule, plans, *operands, biased, result, images, count, title)
        elif isinstance(other, conv_products.ProductPlan):
            other.schedule(schedule, *operands, biased, result, title)
        elif other is not None:
            _by_channels(schedule, other, *operands, biased, result, images, count, title)
        else:
            _by_pixels(schedule, plans, *operands, biased, result, images, count, title)
        if not out.contiguous:
            read, write = row_major(out.shape, 1), steps(out)
            copied(
                *(schedule, out.shape, result, Access(out.dtype, read)),
                *(target, Access(out.dtype, write)),
            )

    numbers = math.prod(geo.x_shape) + math.prod(geo.w_shape) + math.prod(geo.out_shape)
    return Native(emit, title, ITEMSIZE[out.dtype] * numbers, 2 * geo.multiply_adds)


def _by_pixels(
    schedule: Schedule,
    plans: conv.Plans,
    x: Address,
    w: Address,
    bias: Address | None,
    out: Address,
    images: int,
    count: int,
    title: str,
) -> None:
    """Schedule the kernels with lanes over pixels, as `conv` calls them in eager execution."""
    plan = plans[0][0]
    blocks, split = plan.tasks(images, count)
    tasks = blocks * split
    size = plan.weight_bytes + plan.scratch * count
    schedule.plans.append(plans)
    for gather, offset, tiles, tile_src, k, k_src, lane in plan.gathers:
        tables = _table(schedule, tile_src), _table(schedule, k_src)
        schedule.native(
            jit.address(gather),
            [schedule.work(size, offset), w, tiles, tables[0], k, tables[1], lane],
            f"weights of the {title}",
        )
    grain = -(-tasks // (2 * count)) if count > 1 else tasks
    size_of_one = plan.zeros.itemsize
    real = "float" if size_of_one == 4 else "double"
    function = jit.address(conv_kernels.driver(real)["correlate"])
    biased = bias or Address("kept", schedule.keep(plan.zeros))
    for plan, first in plans:
        desc = plan.desc
        if split != 1:
            desc = desc.copy()
            desc[conv_kernels.SPLIT] = split
        described = Address("kept", schedule.keep(desc))
        arrays = [
            described,
            x.at(size_of_one * first),
            schedule.work(size),
            biased,
            out.at(size_of_one * first),
            schedule.work(size, plan.weight_bytes),
        ]
        schedule.native(function, ["team", *arrays, images, -math.inf, tasks, grain], title)


def _by_channels(
    schedule: Schedule,
    plan: conv_lanes.LanesPlan,
    x: Address,
    w: Address,
    bias: Address | None,
    out: Address,
    images: int,
    count: int,
    title: str,
) -> None:
    """Schedule the kernels with lanes over output channels, as `conv_lanes` calls them in eager
    execution.
    """
    size = plan.weight_bytes + plan.scratch * count
    schedule.plans.append(plan)
    padded = Address("kept", schedule.keep(plan.zeros))
    if bias is not None:  # whole vectors of the bias are read
        padded = Address("kept", schedule.keep(plan.zeros.copy()))
        schedule.loop(
            Loop((plan.channels,), (FLOAT,), (), (), (Write(("in", 0), FLOAT),)),
            [bias, padded],
            title="bias with room",
        )
    turn = jit.address(conv_kernels.turning()["turn"])
    for to, times, start, *rest in plan.turns:
        schedule.native(
            turn, [w, start, schedule.work(size, to), times, *rest], f"weights of the {title}"
        )
    desc, tasks, grain = plan.shared(images, count)
    arrays = [
        Address("kept", schedule.keep(desc)),
        x,
        schedule.work(size),
        padded,
        out,
        schedule.work(size, plan.weight_bytes),
    ]
    schedule.native(conv_lanes.function(), ["team", *arrays, images, tasks, grain], title)


def _by_winograd(
    schedule: Schedule,
    plan: conv_winograd.WinogradPlan,
    x: Address,
    w: Address,
    bias: Address | None,
    out: Address,
    images: int,
    count: int,
    title: str,
) -> AbstractContextManager[None]:
    """Schedule the single call of Winograd's method. What is scheduled inside the block runs only
    if the data do not suit it.
    """
    schedule.plans.append(plan)
    size = plan.weight_bytes + plan.scratch * count
    tasks, grain = plan.shared(images, count)
    desc, biased = (
        Address("kept", schedule.keep(plan.desc)),
        bias or Address("kept", schedule.keep(plan.zeros)),
    )
    arrays = [desc, x, w, biased, out, schedule.work(size), schedule.work(size, plan.weight_bytes)]
    numbers = (images * plan.down, plan.groups, tasks, grain)
    return schedule.unless(
        conv_winograd.function(), ["team", *arrays, *numbers], f"{title} (Winograd)"
    )


# ---- the gradient in the weight ------------------------------------------------------------------------
def weight_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the weight gradient, to the calls that `conv_weight` makes in eager execution."""
    g, x = i.inputs
    out = i.outputs[0]
    if not _serves(g, x) or not dense(out, dtype=g.dtype) or not out.size:
        return OTHER
    geo, plan, other = conv.weight_grad_plans(
        _REALS[g.dtype], g.shape, x.shape, tuple(i.params["w_shape"]), *_described(i)
    )
    if plan is None:
        return OTHER
    title = _title("convolution's weight gradient", geo)

    def emit(schedule: Schedule) -> None:
        count = team(ex)
        operands = compact(ex, schedule, g), compact(ex, schedule, x), ex.place(out, schedule)
        if other is None:
            _weight_by_pixels(schedule, plan, geo, *operands, count, title)
            return
        if isinstance(other, conv_products.ProductPlan):
            other.schedule(schedule, *operands[:2], None, operands[2], title)
            return
        schedule.plans.append(other)
        arrays = [
            Address("kept", schedule.keep(other.desc)),
            operands[1],
            operands[0],
            operands[2],
            schedule.work(other.bytes(geo.n, count)),
        ]
        numbers = (*other.shared(geo.n, count), other.groups)
        with schedule.unless(
            conv_winograd_weight.function(), ["team", *arrays, *numbers], f"{title} (Winograd)"
        ):
            _weight_by_pixels(schedule, plan, geo, *operands, count, title)

    return Native(emit, title, g.nbytes + x.nbytes + out.nbytes, 2 * geo.multiply_adds)


def _weight_by_pixels(
    schedule: Schedule,
    plan: conv_weight.WeightPlan,
    geo: ConvGeometry,
    g: Address,
    x: Address,
    to: Address,
    count: int,
    title: str,
) -> None:
    """Schedule the direct kernels of the weight gradient."""
    schedule.plans.append(plan)
    turning, natives = conv_kernels.turning(geo.real), conv_weight.natives(geo.real)
    slices, images = conv_weight.shares(plan, geo.n, count)
    results, size = conv_weight.sizes(plan, slices, images, count)
    desc, result, packed = (
        Address("kept", schedule.keep(plan.desc)),
        schedule.work(size),
        schedule.work(size, results),
    )
    schedule.zero(result, results)
    if slices:
        arrays = [desc, x, g, packed, result]
        schedule.native(
            jit.address(natives["slices"]), ["team", *arrays, geo.n, slices, slices, 1], title
        )
        for part in range(1, slices):
            where = result.at(part * plan.result_bytes)
            schedule.native(
                jit.address(turning["add"]),
                [result, where, plan.result_bytes // geo.itemsize],
                f"sum of the {title}",
            )
    else:
        prepared = plan.packed_bytes * images + 128
        schedule.zero(packed, prepared)
        turned = packed.at(prepared)
        arrays = [desc, x, g, packed, turned]
        for first in range(0, geo.n, images):
            some = min(images, geo.n - first)
            if plan.packed_bytes or plan.turned_bytes:
                schedule.native(
                    jit.address(natives["prepare"]),
                    ["team", *arrays, first, some, 1],
                    f"operands of the {title}",
                )
            share = (first, some, plan.tasks, 1)
            schedule.native(
                jit.address(natives["accumulate"]), ["team", *arrays, result, *share], title
            )
    taps = geo.c_group * geo.taps
    if not plan.turned_bytes:
        numbers = (geo.o, taps, plan.padded_taps)
        schedule.native(
            jit.address(turning["sum_lanes"]), [result, to, *numbers], f"result of the {title}"
        )
        return
    for offset, channel, channels, row in plan.parts:
        moved = [result.at(offset), row, to.at(channel * taps * geo.itemsize), taps, taps, channels]
        schedule.native(jit.address(turning["transpose"]), moved, f"result of the {title}")


# ---- max pooling ---------------------------------------------------------------------------------------
def max_pool(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower max pooling to one call. The positions of the maxima go to the memory that the gradient
    rule reads.
    """
    out = i.outputs[0]
    if len(i.extras) > 1 or set(i.params) - _WINDOW:
        return OTHER
    window = [i.params[name] for name in ("kernel", "stride", "padding", "dilation", "ceil_mode")]
    return pooled(ex, i.inputs[0], out, i.extras[0] if i.extras else None, out.shape, window)


def pooled(
    ex: LoweringContext,
    x: Any,
    out: Value | None,
    index: Value | None,
    shape: tuple[int, ...],
    window: Sequence[Any],
) -> Native | str:
    """Lower the maxima of windows, of shape `shape`, and their positions. If `out` or `index` is
    None, it goes to memory that nobody reads.
    """
    if isinstance(x, Value) and x.dtype in ("float64", "int64"):
        return _pooled_directly(ex, x, out, index, shape, window)
    if (
        not _serves(x, dtypes=("float32",))
        or not dense(out)
        or index is not None
        and not (index.dtype == "int64" and index.contiguous and index.shape == shape)
    ):
        return OTHER
    plan, function = pool.max_plan(x.shape, *window), pool.function("max_pool")
    if plan is None or function is None:
        return OTHER
    planes, size, title = (
        math.prod(x.shape[:2]),
        math.prod(shape),
        f"max pooling of {'x'.join(map(str, x.shape))}",
    )

    def emit(schedule: Schedule) -> None:
        count = team(ex)
        schedule.plans.append(plan)
        grain = -(-planes // (2 * count)) if count > 1 else planes
        arrays = [
            Address("kept", schedule.keep(plan.desc)),
            compact(ex, schedule, x),
            schedule.room(4 * size) if out is None else ex.place(out, schedule),
            schedule.room(8 * size) if index is None else ex.place(index, schedule),
            schedule.work(plan.scratch * count),
        ]
        schedule.native(function, ["team", *arrays, 8, planes, grain], title)

    return Native(emit, title, x.nbytes + 12 * size, x.size)


def _pooled_directly(
    ex: LoweringContext,
    x: Value,
    out: Value | None,
    index: Value | None,
    shape: tuple[int, ...],
    window: Sequence[Any],
) -> Native | str:
    """Like `pooled` for elements of eight bytes, one window at a time."""
    made = pool_direct.native_max(x.shape, x.dtype, *window) if served(x) and x.size else None
    if (
        made is None
        or not dense(out, dtype=x.dtype)
        or not dense(index, dtype="int64")
        or made[1] != shape
    ):
        return OTHER
    function, _, table, numbers = made
    size, title = math.prod(shape), f"max pooling of {'x'.join(map(str, x.shape))}"

    def emit(schedule: Schedule) -> None:
        results = [
            schedule.room(8 * size) if v is None else ex.place(v, schedule) for v in (out, index)
        ]
        arrays = [compact(ex, schedule, x), *results, Address("kept", schedule.keep(table))]
        schedule.native(function, ["team", *arrays, *numbers], title)

    return Native(emit, title, x.nbytes + 16 * size, x.size)


_WINDOW = {"kernel", "stride", "padding", "dilation", "ceil_mode"}


def max_pool_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of max pooling to one call."""
    g, out, index = i.inputs[0], i.outputs[0], value_of(i.params["index"])
    function = pool.function("max_pool_grad")
    if not _serves(g, dtypes=("float32",)) or not dense(out) or not out.size:
        return OTHER
    if function is None or not isinstance(index, Value):
        return OTHER
    if (
        index.dtype != "int64"
        or not index.contiguous
        or index.shape != g.shape
        or out.shape[:2] != g.shape[:2]
    ):
        return OTHER
    planes, title = (
        math.prod(out.shape[:2]),
        f"max pooling's gradient of {'x'.join(map(str, out.shape))}",
    )

    def emit(schedule: Schedule) -> None:
        count = threads.get_num_threads()
        grain = -(-planes // (2 * count)) if count > 1 else planes
        arrays = [compact(ex, schedule, g), ex.place(index, schedule), ex.place(out, schedule)]
        numbers = (math.prod(out.shape[2:]), math.prod(g.shape[2:]), 8, planes, grain)
        schedule.native(function, ["team", *arrays, *numbers], title)

    return Native(emit, title, out.nbytes + 3 * g.nbytes, g.size)


# Convert what the native code of an operation saves to the form that its gradient rule expects.
HANDED: dict[str, Handed] = {"max_pool": lambda arrays: arrays[0]}


# ---- average pooling -----------------------------------------------------------------------------------
def _divided(
    schedule: Schedule,
    dtype: str,
    origin: Address,
    target: Address,
    shape: tuple[int, ...],
    divisor: Any,
) -> None:
    """Schedule the division of windows' sums, of shape (planes, *outputs), by a single divisor or
    by one for each output.
    """
    access = Access(dtype, row_major(shape, 1))
    reads, given, by = (
        [access],
        [origin],
        ("const", float(divisor) if np.ndim(divisor) == 0 else 0.0),
    )
    if np.ndim(divisor):
        reads.append(Access(dtype, (0, *access.strides[1:])))
        given.append(Address("kept", schedule.keep(divisor.astype(dtype, copy=False))))
        by = ("in", 1)
    step = PointwiseOp("div", (("in", 0), by), dtype)
    loop = Loop(shape, tuple(reads), (), (step,), (Write(("step", 0), access),))
    schedule.loop(loop, [*given, target], title=f"{math.prod(shape)} means of windows")


def _pooling(i: Instruction, large: Value, small: Value) -> tuple[Any, ...]:
    """Return what expresses an average pooling as a convolution: the number of planes, the shapes
    of its input and output, a kernel of ones, the divisor, and the remaining arguments of the
    convolution.
    """
    p = i.params
    window = (
        p["kernel"],
        p["stride"],
        p["padding"],
        p["ceil_mode"],
        bool(p["include_pad"]),
        p["divisor"],
    )
    geo, divisor, pads = pool.average(large.shape, *window)
    planes = math.prod(large.shape[:2])
    ones = pool.ones(geo.k, large.dtype)
    shapes = (planes, 1, *geo.x), (planes, 1, *geo.out)
    return planes, *shapes, ones, divisor, (geo.stride, pads, (1,) * len(geo.k), 1)


def avg_pool(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower average pooling to a convolution of each plane with ones, followed by a division."""
    x, out = i.inputs[0], i.outputs[0]
    if not _serves(x) or not dense(out, dtype=x.dtype) or not out.size:
        return OTHER
    planes, x_shape, _, ones, divisor, described = _pooling(i, x, out)
    geo = conv_geometry(x_shape, ones.shape, *described)
    plans = conv.forward_plans(_REALS[x.dtype], x_shape, ones.shape, *described)
    made = _correlation(
        ex,
        "average pooling",
        geo,
        lambda s: (compact(ex, s, x), Address("kept", s.keep(ones))),
        None,
        out,
        *plans,
    )
    if isinstance(made, str):
        return made

    def emit(schedule: Schedule) -> None:
        made.emit(schedule)
        at = ex.place(out, schedule)
        _divided(schedule, out.dtype, at, at, (planes, *out.shape[2:]), divisor)

    return Native(emit, made.title, made.bytes, made.flops)


def avg_pool_grad(i: Instruction, ex: LoweringContext) -> Native | str:
    """Lower the gradient of average pooling to a division, followed by the input gradient of that
    convolution.
    """
    g, out = i.inputs[0], i.outputs[0]
    if not _serves(g) or not dense(out, dtype=g.dtype) or not out.size:
        return OTHER
    planes, x_shape, g_shape, ones, divisor, described = _pooling(i, out, g)
    geo = conv_geometry(x_shape, ones.shape, *described)

    def given(schedule: Schedule) -> tuple[Address, Address]:
        share = room(schedule, g.size, g.dtype)
        _divided(
            schedule, g.dtype, compact(ex, schedule, g), share, (planes, *g.shape[2:]), divisor
        )
        return share, Address("kept", schedule.keep(ones))

    plans = conv.input_grad_plans(_REALS[g.dtype], g_shape, ones.shape, x_shape, *described)
    return _correlation(ex, "average pooling's gradient", geo, given, None, out, *plans)


LOWERINGS: dict[str, Lowering] = {
    "conv": InFloat32(convolution),
    "conv_input_grad": InFloat32(input_grad),
    "conv_weight_grad": InFloat32(weight_grad),
    "max_pool": InFloat32(max_pool),
    "max_pool_grad": InFloat32(max_pool_grad),
    "avg_pool": InFloat32(avg_pool),
    "avg_pool_grad": InFloat32(avg_pool_grad),
}
