"""Scaled dot-product attention, forward and backward, without the whole matrix of weights in memory
(float32).

A task takes a block of queries of one head. Their products with the keys stay in the second-level
cache through the softmax and the product with the values. The backward recomputes the weights from
each row's log-sum-exp, as in Dao et al., "FlashAttention", 2022, and divides them by their sum.
While one head is processed, the rows of the next one are prefetched, which the arithmetic hides.
With causal masking, keys beyond a block's last query are left out. Rows without any key (all
masked) give zeros. The functions return None if they do not support their arguments.
"""

from __future__ import annotations

import functools
import math as pymath
import threading
from typing import Any, NamedTuple

import numpy as np

from ...llvm import jit, math, target, threads
from ...llvm import workspace as kept
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.outputs import empty
from ..matmul.call import ACCUMULATE, SCRATCH_FLOATS, gemm_address

__all__ = ["attention", "attention_backward"]

_F32 = np.dtype(np.float32)
STRIP = 16  # queries per vector of 512 bits
STRIPS = 5  # largest number of strips in a block; fewer if its weights would exceed the cache
WEIGHTS = 1 << 17  # floats in a block of weights (512 KiB)

_STRIDES = "b h t".split()
_NUMBERS = "heads queries keys width out_width rows causal scratch_size".split()


class Head:
    """The matrices of one head: addresses and row strides of the given operands."""

    def __init__(self, f: Function, task: SSAValue, operands: list[str]) -> None:
        self.f = f
        batch, head = task / f.heads, task % f.heads
        self.base = {}
        for name in operands:
            offset = batch * getattr(f, f"{name}_b") + head * getattr(f, f"{name}_h")
            self.base[name] = f.at(getattr(f, name), offset)

    def row(self, name: str, i: SSAValue) -> SSAValue:
        """Return the address of row `i` of an operand."""
        return self.f.at(self.base[name], i * self.pitch(name))

    def pitch(self, name: str) -> SSAValue:
        """Return the distance between two rows of an operand, in elements."""
        return getattr(self.f, f"{name}_t")


def _kernel(module: Module, name: str, operands: list[str], others: list[str]) -> Function:
    params = dict.fromkeys((*operands, *others, "gemm", "scratch"), "ptr")
    params |= {f"{o}_{s}": "i64" for o in operands for s in _STRIDES}
    params |= dict.fromkeys(_NUMBERS, "i64") | {"scale": "double"}
    return threads.parallel_export(module, name, params)


def _gemm(f: Function, a, b, out, packed: SSAValue, m, n, depth, flags: SSAValue | int = 0) -> None:
    """Emit out (+)= a b, where a and b are (address, row stride, column stride) and out is
    (address, row stride).
    """
    null = f.emit("inttoptr i64 0 to ptr", "ptr")
    pointers = (null, a[0], b[0], out[0], out[0], packed)
    numbers = (m, n, depth, a[1], a[2], b[1], b[2], out[1], f.as_value(flags, "i64"))
    passed = ", ".join(f"{v.ctype} {f.as_value(v, v.ctype).name}" for v in (*pointers, *numbers))
    f.line(f"call void {f.gemm.name}({passed})")


def _reach(f: Function, first: SSAValue, rows: SSAValue) -> SSAValue:
    """Return the number of keys that a block of queries sees."""
    return f.select(f.causal.compare("ne", 0), f.smaller(first + rows, f.keys), f.keys)


def _seen(f: Function, i: SSAValue, reach: SSAValue) -> SSAValue:
    """Return the number of keys that query i sees."""
    return f.select(f.causal.compare("ne", 0), f.smaller(i + 1, reach), reach)


def _vectors(f: Function, count: SSAValue, body) -> None:
    width = target.host().lanes("float")
    f.vector_loop(count, width, body)


def _zero(f: Function, pointer: SSAValue, start: SSAValue, stop: SSAValue) -> None:
    kind = vector("float", target.host().lanes("float"))
    here = f.at(pointer, start)
    _vectors(f, stop - start, lambda i, mask: f.store(f.const(0.0, kind), here, i, mask=mask))


def _pitch(f: Function) -> SSAValue:
    """Return the distance between the rows of adjacent keys in a block of weights: the block's
    number of queries, in whole vectors.
    """
    width = target.host().lanes("float")
    return (f.rows + (width - 1)) / width * width


def _fetch(
    f: Function,
    head: Head,
    names: list[str],
    count: SSAValue,
    width: SSAValue,
    first: SSAValue,
    rows: SSAValue,
) -> None:
    """Emit prefetches of `rows` rows of a head's matrices, from `first` on and below `count`."""
    # floats per cache line; longer lines are prefetched more than once, which costs little
    line = 16
    with f.loop(first, f.smaller(first + rows, count)) as i:
        for name in names:
            row, write = head.row(name, i), name.startswith("d")
            f.prefetch(row, 0, write=write)
            f.prefetch(row, width - 1, write=write)
            with f.loop(line, width - line, line) as j:
                f.prefetch(row, j, write=write)


def _score(
    f: Function,
    product: SSAValue,
    scale: SSAValue,
    head: Head,
    query: SSAValue,
    j: SSAValue,
    lanes: SSAValue,
) -> SSAValue:
    """Return the scaled products of key j and a vector of queries, plus the mask's column j if
    there is a mask.
    """
    kind = product.ctype
    score = f.var(kind, product * scale)
    with f.when(f.emit(f"icmp ne ptr {f.mask.name}, null", "i1")):
        step = head.pitch("mask")

        def one() -> None:  # all queries have the same mask
            score.set(score.get() + f.splat(f.load("float", head.base["mask"], j), kind))

        def each() -> None:
            moves = f.splat(step, query.ctype) * query + f.splat(j, query.ctype)
            addresses = f.addresses(head.base["mask"], moves, "float")
            score.set(score.get() + f.gather(kind, addresses, lanes, align=4))

        f.branch(step.compare("eq", 0), one, each)
    return score.get()


def _hidden(f: Function, first: SSAValue, j: SSAValue) -> SSAValue:
    """Return which of a vector of queries, from `first` on, do not see key j."""
    kind = vector("i32", target.host().lanes("float"))
    earlier = f.select(f.causal.compare("ne", 0), f.trunc(f.smaller(j - first, 1 << 20), "i32"), 0)
    return f.iota(kind).compare("slt", f.splat(earlier, kind))


def _build(name: str) -> str:
    module = Module()
    _emit_forward(module)
    _emit_backward(module)
    return module.text(name)


def _emit_forward(module: Module) -> None:
    """Emit the forward kernel. The products are computed transposed, with keys as rows and queries
    as columns: a lane is a query, and nothing is summed across lanes.
    """
    width = target.host().lanes("float")
    kind, places = vector("float", width), vector("i64", width)
    f = _kernel(module, "forward", ["q", "k", "v", "mask", "out"], ["lse"])
    blocks = (f.queries + f.rows - 1) / f.rows
    pitch = _pitch(f)
    scale = f.splat(f.trunc(f.scale, "float"), kind)
    packed = f.at(f.scratch, f.thread * f.scratch_size)
    weights = f.at(packed, SCRATCH_FLOATS)
    factors = f.at(weights, pitch * f.keys)
    unit = f.const(1, "i64")
    with f.loop(f.begin, f.end) as task:
        item, first = task / blocks, task % blocks * f.rows
        head = Head(f, item, ["q", "k", "v", "mask", "out"])
        rows = f.smaller(f.queries - first, f.rows)
        reach = _reach(f, first, rows)
        with f.when((task + blocks).compare("slt", f.end)):
            later, share = Head(f, item + 1, ["q", "k", "v"]), (f.keys + blocks - 1) / blocks
            _fetch(f, later, ["q"], f.queries, f.width, first, rows)
            _fetch(f, later, ["k"], f.keys, f.width, task % blocks * share, share)
            _fetch(f, later, ["v"], f.keys, f.out_width, task % blocks * share, share)
        keys = (head.base["k"], head.pitch("k"), unit)
        _gemm(
            f,
            keys,
            (head.row("q", first), unit, head.pitch("q")),
            (weights, pitch),
            packed,
            reach,
            rows,
            f.width,
        )
        with f.loop(0, rows, width) as r:
            lanes = f.tail_mask(rows - r, width)
            query = f.iota(places) + f.splat(first + r, places)
            column = f.at(weights, r)
            best, total = f.var(kind, -pymath.inf), f.var(kind, 0.0)
            # No query of this vector sees keys beyond its last query.
            reach_here = _seen(f, f.smaller(first + r + (width - 1), f.queries), reach)
            with f.loop(0, reach_here) as j:
                score = _score(f, f.load(kind, column, j * pitch), scale, head, query, j, lanes)
                seen = f.select(_hidden(f, first + r, j), -pymath.inf, score)
                f.store(seen, column, j * pitch)
                best.set(f.larger(seen, best.get()))
            m = best.get()
            # A row without keys has no maximum to subtract.
            m = f.select(m.compare("oeq", -pymath.inf), 0.0, m)
            with f.loop(0, reach_here) as j:
                e = math.exp(f, f.load(kind, column, j * pitch) - m)
                f.store(e, column, j * pitch)
                total.set(total.get() + e)
            with f.loop(reach_here, reach) as j:
                f.store(f.const(0.0, kind), column, j * pitch)
            s = total.get()
            empty = s.compare("oeq", 0.0)
            lse = f.select(empty, pymath.inf, math.log(f, s) + m)
            f.store(lse, f.lse, item * f.queries + first + r, mask=lanes)
            f.store(f.select(empty, 0.0, 1.0 / s), factors, r)
        values = (head.base["v"], head.pitch("v"), unit)
        out = (head.row("out", first), head.pitch("out"))
        _gemm(f, (weights, unit, pitch), values, out, packed, rows, f.out_width, reach)
        with f.loop(0, rows) as r:
            factor = f.splat(f.load("float", factors, r), kind)
            row = head.row("out", first + r)

            def normalize(j: SSAValue, mask: SSAValue | None, row=row, factor=factor) -> None:
                f.store(f.load(kind, row, j, mask=mask) * factor, row, j, mask=mask)

            _vectors(f, f.out_width, normalize)
    f.ret()


def _emit_backward(module: Module) -> None:
    """Emit the backward kernel. As in the forward kernel, a lane is a query; so the weights and
    slopes of a block can be used in place as left operands of two products.
    """
    width = target.host().lanes("float")
    kind, places = vector("float", width), vector("i64", width)
    operands = ["q", "k", "v", "mask", "g", "dq", "dk", "dv"]
    f = _kernel(module, "backward", operands, ["lse"])
    scale = f.splat(f.trunc(f.scale, "float"), kind)
    pitch = _pitch(f)
    packed = f.at(f.scratch, f.thread * f.scratch_size)
    weights = f.at(packed, SCRATCH_FLOATS)
    slopes = f.at(weights, pitch * f.keys)
    unit = f.const(1, "i64")
    blocks = (f.queries + f.rows - 1) / f.rows
    with f.loop(f.begin, f.end) as item:
        head = Head(f, item, operands)
        # The last block comes first: its queries see the most keys, whose gradients it initializes.
        with f.loop(0, blocks) as b:
            first = (blocks - 1 - b) * f.rows
            rows = f.smaller(f.queries - first, f.rows)
            reach = _reach(f, first, rows)
            add = f.select(b.compare("sgt", 0), f.const(ACCUMULATE, "i64"), 0)
            with f.when((item + 1).compare("slt", f.end)):
                later, share = Head(f, item + 1, operands), (f.keys + blocks - 1) / blocks
                _fetch(f, later, ["q", "dq"], f.queries, f.width, first, rows)
                _fetch(f, later, ["g"], f.queries, f.out_width, first, rows)
                _fetch(f, later, ["k", "dk"], f.keys, f.width, b * share, share)
                _fetch(f, later, ["v", "dv"], f.keys, f.out_width, b * share, share)
            k, v = ((head.base[n], head.pitch(n), unit) for n in ("k", "v"))
            q, g = ((head.row(n, first), head.pitch(n), unit) for n in ("q", "g"))
            q_t, g_t = ((m[0], unit, m[1]) for m in (q, g))
            _gemm(f, k, q_t, (weights, pitch), packed, reach, rows, f.width)
            _gemm(f, v, g_t, (slopes, pitch), packed, reach, rows, f.out_width)
            with f.loop(0, rows, width) as r:
                lanes = f.tail_mask(rows - r, width)
                query = f.iota(places) + f.splat(first + r, places)
                weight, slope = f.at(weights, r), f.at(slopes, r)
                lse = f.load(kind, f.lse, item * f.queries + first + r, mask=lanes)
                reach_here = _seen(f, f.smaller(first + r + (width - 1), f.queries), reach)
                # the common term of the gradient of a query's weights, since their sum stays 1
                delta, total = f.var(kind, 0.0), f.var(kind, 0.0)
                with f.loop(0, reach_here) as j:
                    score = _score(f, f.load(kind, weight, j * pitch), scale, head, query, j, lanes)
                    p = f.select(_hidden(f, first + r, j), 0.0, math.exp(f, score - lse))
                    f.store(p, weight, j * pitch)
                    total.set(total.get() + p)
                    delta.set(f.fma(p, f.load(kind, slope, j * pitch), delta.get()))
                # Next to a large number (a mask of -1e9 over all keys) the logarithm of the sum has
                # been lost to rounding, so the weights are divided by their sum.
                s = total.get()
                share = f.select(s.compare("oeq", 0.0), 0.0, 1.0 / s)
                lost = delta.get() * share
                with f.loop(0, reach_here) as j:
                    p = f.load(kind, weight, j * pitch) * share
                    f.store(p, weight, j * pitch)
                    f.store(p * (f.load(kind, slope, j * pitch) - lost) * scale, slope, j * pitch)
                with f.loop(reach_here, reach) as j:
                    f.store(f.const(0.0, kind), weight, j * pitch)
                    f.store(f.const(0.0, kind), slope, j * pitch)
            _gemm(
                f,
                (weights, pitch, unit),
                g,
                (head.base["dv"], head.pitch("dv")),
                packed,
                reach,
                f.out_width,
                rows,
                add,
            )
            _gemm(
                f,
                (slopes, unit, pitch),
                k,
                (head.row("dq", first), head.pitch("dq")),
                packed,
                rows,
                f.width,
                reach,
            )
            _gemm(
                f,
                (slopes, pitch, unit),
                q,
                (head.base["dk"], head.pitch("dk")),
                packed,
                reach,
                f.width,
                rows,
                add,
            )
        # zeros for keys that no query sees
        with f.loop(_reach(f, f.queries, f.const(0, "i64")), f.keys) as j:
            _zero(f, head.row("dk", j), f.const(0, "i64"), f.width)
            _zero(f, head.row("dv", j), f.const(0, "i64"), f.out_width)
    f.ret()


def _signature(operands: int) -> str:
    return "p" + "a" * operands + "a" + "pa" + "i" * (3 * operands + len(_NUMBERS)) + "d" + "ii"


_lib = jit.NativeLibrary("attention", _build, {"forward": _signature(5), "backward": _signature(8)})
_local = threading.local()


def _forget() -> None:
    _local.scratch = None


kept.holders.append(_forget)


def native(name: str) -> int | None:
    """Return the address of a native function of this file; None if it cannot be compiled."""
    function = getattr(_lib, name)
    return None if function is None else jit.address(function)


def per_thread(queries: int, keys: int, backward: bool) -> int:
    """Return the number of floats of working memory per thread."""
    rows = _block(queries, keys)
    # rows are padded to whole vectors
    return SCRATCH_FLOATS + (rows + 16) * ((2 if backward else 1) * keys + 1)


@functools.lru_cache(4096)
def numbers(
    sizes: tuple[int, ...], causal: bool, scale: float, backward: bool
) -> tuple[int | float, ...]:
    """Return the arguments of a native function behind the strides. `sizes` are batch, heads,
    queries, keys and both widths.
    """
    batch, heads, queries, keys, width, out_width = sizes
    rows = (
        min(_block(queries, keys), _causal_block(queries, backward))
        if causal
        else _block(queries, keys)
    )
    tasks = batch * heads * (1 if backward else -(-queries // rows))
    grain = max(1, (1 << 18) // ((queries if backward else rows) * keys * width))
    room = per_thread(queries, keys, backward)
    return (
        heads,
        queries,
        keys,
        width,
        out_width,
        rows,
        int(causal),
        room,
        float(scale),
        tasks,
        grain,
    )


_ROOM = 7  # the index of the scratch memory's size among them


# The entries.


def _scratch(per_thread: int) -> np.ndarray:
    """Return working memory for every thread of the team. It is kept between calls, because fresh
    pages would cost more than the computation in them.
    """
    size = per_thread * threads.get_num_threads()
    scratch = getattr(_local, "scratch", None)
    if scratch is None or scratch.size < size:
        scratch = _local.scratch = np.empty(size, _F32)
    return scratch


class _Layout(NamedTuple):
    """Shape and strides of an array of four dimensions."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _strides(*arrays: np.ndarray | _Layout | None) -> list[int]:
    """Return batch, head and row strides in floats; 0 along broadcast dimensions."""
    result: list[int] = []
    for a in arrays:
        if a is None:
            result += (0, 0, 0)
        else:
            batch, heads, rows, _ = a.shape
            one, two, three, _ = a.strides
            result += (
                one // 4 if batch != 1 else 0,
                two // 4 if heads != 1 else 0,
                three // 4 if rows != 1 else 0,
            )
    return result


def _serves(*arrays: _Layout) -> bool:
    for a in arrays:
        if len(a.shape) != 4 or 0 in a.shape:
            return False
        # Rows must be contiguous and must not overlap.
        if (a.shape[3] > 1 and a.strides[3] != 4) or (
            a.shape[2] > 1 and a.strides[2] < 4 * a.shape[3]
        ):
            return False
    return True


def _as_bias(mask: np.ndarray | None, shape: tuple[int, ...]) -> tuple[np.ndarray | None, bool]:
    """Return the mask as a float array with four dimensions, to be added, and whether it is
    supported.
    """
    if mask is None:
        return None, True
    if mask.dtype == bool:
        mask = np.where(mask, np.float32(0), np.float32(-np.inf))
    if mask.dtype is not _F32 or mask.ndim > 4:
        return None, False
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    if any(own not in (1, n) for own, n in zip(mask.shape, shape)):
        return None, False
    if mask.shape[3] != shape[3]:
        mask = np.broadcast_to(mask, (*mask.shape[:3], shape[3]))
    return (
        mask if mask.strides[3] == 4 and min(mask.strides) >= 0 else np.ascontiguousarray(mask)
    ), True


def _like(a: np.ndarray, width: int) -> np.ndarray:
    """Return a new array `(B, H, T, width)` whose rows are in the memory order of those of `a`: by
    head, or by position.
    """
    batch, heads, length = a.shape[:3]
    if a.strides[1] < a.strides[2]:
        return empty((batch, length, heads, width), _F32).swapaxes(1, 2)
    return empty((batch, heads, length, width), _F32)


def _placed(*arrays: np.ndarray) -> list[int] | None:
    """Return the strides of queries, keys, values and further arrays; None if they do not match or
    are not supported.
    """
    layouts: list[Any] = []
    for a in arrays:
        if a.dtype is not _F32 or not a.flags.aligned:
            return None
        layouts += (a.shape, a.strides)
    return _known_strides(*layouts)


@functools.lru_cache(4096)
def _known_strides(*layouts: Any) -> list[int] | None:
    arrays = [_Layout(*pair) for pair in zip(layouts[::2], layouts[1::2], strict=True)]
    q, k, v, *_ = arrays
    fits = (
        _serves(*arrays)
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[3] == k.shape[3]
        and k.shape[2] == v.shape[2]
    )
    return _strides(*arrays) if fits else None


def _causal_block(queries: int, backward: bool) -> int:
    """Return the number of queries per block with causal masking: smaller blocks leave out more of
    the hidden keys, but fill the tiles of the products less.
    """
    return 32 if backward and queries > 64 else 16


def _block(queries: int, keys: int) -> int:
    """Return the number of queries per block. Blocks have about the same size, since a block of a
    few queries costs as much in the products as one of a whole strip.
    """
    strips = -(-queries // STRIP)
    rows = -(-strips // -(-strips // STRIPS)) * STRIP
    return max(1, min(rows, queries, WEIGHTS // keys))


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return softmax(q k^T * scale + mask) v, and each row's log-sum-exp `(B, H, T)`, which the
    backward needs; None if not supported.

    q is `(B, H, T, D)`, k `(B, H, S, D)`, v `(B, H, S, E)`, with contiguous rows. `mask` broadcasts
    to `(B, H, T, S)` and is added, or is boolean with True for the keys that are visible. With
    `causal`, query i sees keys 0 to i. `scale` is 1 / sqrt(D) by default. The result has the memory
    layout of q.
    """
    steps = _placed(q, k, v)
    if steps is None or _lib.forward is None:
        return None
    batch, heads, queries, width = q.shape
    keys, out_width = v.shape[2:]
    bias, good = _as_bias(mask, (batch, heads, queries, keys))
    gemm = gemm_address()
    if not good or gemm is None:
        return None
    out = _like(q, out_width)
    lse = np.empty((batch, heads, queries), _F32)
    scale = width**-0.5 if scale is None else scale
    passed = numbers((batch, heads, queries, keys, width, out_width), causal, scale, False)
    scratch = _scratch(int(passed[_ROOM]))
    arrays = (q, k, v, bias, out, lse, gemm, scratch)
    _lib.forward(threads.team(), *arrays, *steps, *_strides(bias, out), *passed)
    return out, lse


def attention_backward(
    g: np.ndarray,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    lse: np.ndarray,
    mask: np.ndarray | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the gradients of q, k and v; `lse` is the second result of `attention`. None if not
    supported.
    """
    steps = _placed(q, k, v, g)
    if steps is None or g.shape != (*q.shape[:3], v.shape[3]) or _lib.backward is None:
        return None
    batch, heads, queries, width = q.shape
    keys, out_width = v.shape[2:]
    bias, good = _as_bias(mask, (batch, heads, queries, keys))
    gemm = gemm_address()
    if not good or gemm is None:
        return None
    dq, dk, dv = _like(q, width), _like(k, width), _like(v, out_width)
    scale = width**-0.5 if scale is None else scale
    passed = numbers((batch, heads, queries, keys, width, out_width), causal, scale, True)
    arrays = (q, k, v, bias, g, dq, dk, dv)
    own, given = steps[:9], steps[9:]
    steps = [*own, *_strides(bias), *given, *_strides(dq, dk, dv)]
    scratch = _scratch(int(passed[_ROOM]))
    _lib.backward(threads.team(), *arrays, lse, gemm, scratch, *steps, *passed)
    return dq, dk, dv
