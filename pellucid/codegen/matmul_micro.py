"""The innermost loops of matrix products: a tile of the result stays in registers while rows of A meet columns of B."""

from __future__ import annotations

from pellucid.codegen.emit import Module, Value, vector
from pellucid.codegen.matmul_pack import Tile

__all__ = ["ACCUMULATE", "BIAS", "RELU", "emit_any", "emit_micro", "micro_name", "prefix"]

AHEAD = 8  # steps of k that A is fetched ahead


def emit_micro(module: Module, t: Tile, rows: int, vectors: int, packed: bool) -> None:
    """out[i, :] (+)= sum over k of a[i, k] * b[k * stride + :], then bias and relu; `valid` columns are stored.

    a[i, k] lies at k * a_row + i when `packed`, else at i * a_row + k. With each step of k a line of what the next panels are made of
    is fetched, `ahead_step` floats from the last one: it arrives while the arithmetic goes on.
    """
    kind = vector("float", t.lanes)
    f = module.function(micro_name(packed, rows, vectors), **_MICRO_PARAMS)
    sums = [[f.var(kind, 0.0) for _ in range(vectors)] for _ in range(rows)]
    starts = [] if packed else [f.at(f.a, f.a_row * i) for i in range(rows)]
    apart = 16 // vectors  # steps of k from one vector of the result to the next, whose lines are fetched one by one
    with f.loop(0, f.depth) as k:
        b = f.at(f.b, k * f.stride)
        a = f.at(f.a, k * f.a_row)
        # What comes next: of packed rows the steps to come, else the rows of the next panel, where they follow these.
        f.prefetch(a, f.a_row * AHEAD) if packed else f.prefetch(f.a, f.a_row * rows + k * rows)
        f.prefetch(f.ahead, k * f.ahead_step, near=2)
        # The result's lines arrive while the sums are made, a row in 16 steps: asked for all at once they would keep B waiting.
        f.prefetch(f.out, (k >> 4) * f.pitch + (k & 15) / apart * t.lanes, write=True)
        wide = [f.load(kind, b, v * t.lanes) for v in range(vectors)]
        for i in range(rows):
            factor = f.splat(f.load("float", a, i) if packed else f.load("float", starts[i], k), kind)
            for v in range(vectors):
                sums[i][v].set(f.fma(factor, wide[v], sums[i][v].get()))
    masks = [f.tail_mask(f.valid - v * t.lanes, t.lanes) for v in range(vectors)]

    def each(change) -> None:
        for i in range(rows):
            for v in range(vectors):
                sums[i][v].set(change(sums[i][v].get(), i, v))

    def place(i: int, v: int) -> Value:
        return f.at(f.out, f.pitch * i + v * t.lanes)

    with f.when((f.flags & ACCUMULATE).compare("ne", 0)):
        each(lambda s, i, v: s + f.load(kind, place(i, v), mask=masks[v]))
    with f.when((f.flags & BIAS).compare("ne", 0)):
        bias = [f.load(kind, f.bias, v * t.lanes, mask=masks[v]) for v in range(vectors)]
        each(lambda s, i, v: s + bias[v])
    with f.when((f.flags & RELU).compare("ne", 0)):
        each(lambda s, i, v: f.select(s.compare("ole", 0.0), 0.0, s))
    for i in range(rows):
        for v in range(vectors):
            f.store(sums[i][v].get(), place(i, v), mask=masks[v])
    f.ret()


_MICRO_PARAMS = {
    **dict.fromkeys(("a", "b", "out", "bias", "ahead"), "ptr"),
    **dict.fromkeys(("a_row", "depth", "stride", "pitch", "valid", "flags", "height", "ahead_step"), "i64"),
}
ACCUMULATE, BIAS, RELU = 1, 2, 4


def micro_name(packed: bool, rows: int, vectors: int) -> str:
    return f"{prefix(packed)}.{rows}.{vectors}"


def prefix(packed: bool) -> str:
    return "micro.packed" if packed else "micro.plain"


def emit_any(module: Module, packed: bool) -> None:
    """A micro-kernel for every shape, one element after the other: what serves where one of the others cannot be compiled. Each
    element is the same sum in the same order, so the bits are those of the others, too.
    """
    f = module.function(f"{prefix(packed)}.any", **_MICRO_PARAMS)
    f.driver = True
    with f.loop(0, f.height) as i, f.loop(0, f.valid) as j:
        total = f.var("float", 0.0)
        with f.loop(0, f.depth) as k:
            a = f.load("float", f.a, k * f.a_row + i if packed else i * f.a_row + k)
            total.set(f.fma(a, f.load("float", f.b, k * f.stride + j), total.get()))
        place = f.at(f.out, i * f.pitch + j)
        with f.when((f.flags & ACCUMULATE).compare("ne", 0)):
            total.set(total.get() + f.load("float", place))
        with f.when((f.flags & BIAS).compare("ne", 0)):
            total.set(total.get() + f.load("float", f.bias, j))
        with f.when((f.flags & RELU).compare("ne", 0)):
            total.set(f.select(total.get().compare("ole", 0.0), 0.0, total.get()))
        f.store(total.get(), place)
    f.ret()
