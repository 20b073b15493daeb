"""Where Winograd's method may be used: on values whose magnitudes do not differ too much within a
tile.

The transforms add and subtract all pixels of a tile, so the rounding errors of a result are
proportional to the largest pixel of the tile, not to the nine pixels that the result depends on. To
bound them, the size of each pixel is computed, which is the sum of its channels' absolute values,
and for each window of 3x3 pixels the sum of their sizes.

- A tile is *tame* if none of its pixels is larger than SPREAD times its smallest window. Other
  tiles are computed one by one by the definition (`emit_by_definition`). So errors stay in
  proportion to the result's own window, up to that factor.
- Weights are tame if for each result the sums of absolute values of its nine taps, over all source
  channels, differ by no more than a factor of TAP_SPREAD. Otherwise Winograd's method is not used
  at all: the large taps might not meet the large pixels.
- The weight gradient is a sum over all pixels. Its errors are bounded by the sum over tiles of
  (largest pixel of the input times largest pixel of the gradient). This must not exceed SPREAD
  times the smallest of the nine sums of |pixel| times |pixel| from which the taps are computed.
  On neither side may a single pixel account for more than 1 / FEWEST of the sum of all.

Sizes below SMALLEST would lose digits to denormal numbers in intermediate results, and count as too
small.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.emit import lanes as count
from . import tiles as kernels
from .winograd_parts import REACH, TILE

SPREAD = 2.0  # so the mean pixel of a window is at least 1/18 of the largest pixel in its tile
TAP_SPREAD = 16.0
FEWEST = 16.0
SMALLEST = 2.0**-100
SIDE = TILE * TILE  # results of a tile, which are the lanes of the direct computation
SUMS = 16  # floats per row of tiles in the memory of `sums_of_row`
TAPS = 9


def pitch(across: int) -> int:
    """Return the number of floats in a row of sizes for `across` tiles, with padding so that whole
    vectors can be read at each of them.
    """
    lanes = kernels.lanes()
    return -(-(across * TILE + 2) // lanes) * lanes + lanes


@dataclass
class Map:
    """The sizes of the pixels under a row of tiles: rows of `pitch` floats that begin at the first
    tile's first column, with zeros around.
    """

    at: SSAValue
    before: SSAValue  # the map of the previous row of tiles (or the same memory)
    pitch: SSAValue


def sizes_of_rows(
    f: Function,
    sizes: Map,
    own: SSAValue,
    low: SSAValue,
    high: SSAValue,
    left: SSAValue,
    columns: SSAValue,
    channels: SSAValue,
    room: SSAValue,
) -> None:
    """Emit the computation of the sizes of the pixels in rows `low` to `high`, from `own`, which
    has channels last.
    """
    lanes = kernels.lanes()
    kind = vector("float", lanes)

    def some(line: SSAValue, to: SSAValue, j: SSAValue, pixels: int) -> None:
        totals = [f.var(kind, 0.0) for _ in range(pixels)]

        def add(c: SSAValue, mask: SSAValue | None) -> None:
            for k, total in enumerate(totals):
                total.set(
                    total.get() + f.fabs(f.load(kind, f.at(line, (j + k) * room), c, mask=mask))
                )

        f.vector_loop(channels, lanes, add)
        f.store(_sums(f, [total.get() for total in totals]), to, j)

    with f.loop(low, high) as i:
        to, line = f.at(sizes.at, i * sizes.pitch + left), f.at(own, i * columns * room)
        whole = columns - columns % 4
        with f.loop(0, whole, 4) as j:
            some(line, to, j, 4)
        with f.loop(whole, columns) as j:
            some(line, to, j, 1)


def _sums(f: Function, values: list[SSAValue]) -> SSAValue:
    """Emit the sums of the lanes of several vectors (a power of two), by adding halves to halves."""
    if len(values) == 1:
        return f.total(values[0])
    size = kernels.lanes()  # number of lanes that still belong to the same sum
    while size > 1:
        width = count(values[0].ctype)
        low = [k + i for k in range(0, width, size) for i in range(size // 2)]
        if len(values) > 1:
            low += [k + width for k in low]
            pairs = list(zip(values[::2], values[1::2], strict=True))
        else:
            pairs = [(values[0], values[0])]
        values = [
            f.shuffle(a, b, low) + f.shuffle(a, b, [k + size // 2 for k in low]) for a, b in pairs
        ]
        size //= 2
    return values[0]


def mark(
    f: Function,
    sizes: Map,
    rows: SSAValue,
    columns: SSAValue,
    across: SSAValue,
    flags: SSAValue,
    work: SSAValue,
) -> SSAValue:
    """Emit flags[tile] = 1 for tiles that are not tame, and return how many there are. Only the
    first `rows` and `columns` of results count.
    """
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    infinity = float("inf")
    most = f.at(work, sizes.pitch)
    with f.loop(0, across * TILE + 2, lanes) as k:
        lines = [
            [f.load(kind, sizes.at, sizes.pitch * i + k + j) for j in range(3)]
            for i in range(REACH)
        ]
        beside = [a + b + c for a, b, c in lines]
        least, largest = None, lines[0][0]
        for i in range(TILE):
            window = beside[i] + beside[i + 1] + beside[i + 2]
            if least is None:
                least = window
            else:
                least = f.select(
                    f.splat(rows.compare("sgt", i), vector("i1", lanes)),
                    f.smaller(window, least),
                    least,
                )
        for line in lines[1:]:
            largest = f.larger(line[0], largest)
        assert least is not None
        f.store(f.select(f.tail_mask(columns - k, lanes), least, infinity), work, k)
        f.store(largest, most, k)
    found = f.var("i64", 0)
    with f.loop(0, across) as tile:
        four = f.load(vector("float", 4), work, tile * TILE)
        least = f.fold(four, f.smaller)
        ends = [f.load(vector("float", 4), most, tile * TILE + i) for i in (0, 2)]
        largest = f.fold(f.larger(*ends), f.larger)
        flag = f.emit(f"zext i1 {_uneven(f, largest, least * SPREAD).name} to i64", "i64")
        f.store(flag, flags, tile)
        found.set(found.get() + flag)
    return found.get()


def _uneven(f: Function, largest: SSAValue, bound: SSAValue) -> SSAValue:
    """Return whether something is larger than its bound, or too small or too large for the
    transforms.
    """
    tiny = largest.compare("olt", SMALLEST) & largest.compare("ogt", 0.0)
    return largest.compare("ugt", bound) | largest.compare("uge", float("inf")) | tiny


def tell(f: Function, uneven: SSAValue, status: SSAValue) -> None:
    """Emit a store of 1 to the word `status` if any lane is set."""
    width = count(uneven.ctype)
    bits = f.bitcast(uneven, f"i{width}") if width > 1 else uneven
    with f.when(bits.compare("ne", 0)):
        f.line(f"store atomic i64 1, ptr {status.name} monotonic, align 8")


# ---- weights -----------------------------------------------------------------------------------------
def emit_taps(module: Module) -> None:
    """Emit `taps(sums, groups, width, results, status)`, which checks the sums of each tap's
    absolute values, [group][tap][result].
    """
    f = module.function(
        "taps", internal=True, sums="ptr", groups="i64", width="i64", results="i64", status="ptr"
    )
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    with f.loop(0, f.results, lanes) as o:
        largest = least = None
        for t in range(TAPS):
            total = f.var(kind, 0.0)
            with f.loop(0, f.groups) as group:
                total.set(total.get() + f.load(kind, f.sums, (group * TAPS + t) * f.width + o))
            value = total.get()
            largest = value if largest is None else f.larger(value, largest)
            least = value if least is None else f.smaller(value, least)
        assert largest is not None and least is not None
        tell(
            f, _uneven(f, largest, least * TAP_SPREAD) & f.tail_mask(f.results - o, lanes), f.status
        )
    f.ret()


# ---- tiles by the definition ---------------------------------------------------------------------------
TOGETHER = 4  # number of output channels computed together


def emit_by_definition(module: Module) -> None:
    """Emit `by_definition`, which computes the results of one tile for all channels from the
    original arrays; lanes are the tile's 4x4 results.

    x, w, bias and out are those of the call. `patches` has room for TAPS x SIDE floats per source
    channel. The numbers give the place of the tile.
    """
    pointers = dict.fromkeys(("x", "w", "bias", "out", "patches"), "ptr")
    names = (
        "channels",
        "rows",
        "columns",
        "top",
        "left",
        "results",
        "out_rows",
        "out_columns",
        "out_top",
        "out_left",
        "image",
    )
    f = module.function(
        "by_definition",
        internal=True,
        **pointers,
        **dict.fromkeys((*names, "in_step", "out_step", "turned"), "i64"),
    )
    f.noinline = True
    four, flags, kind = vector("float", TILE), vector("i1", TILE), vector("float", SIDE)
    plane = f.rows * f.columns
    inside = []
    wide = vector("i64", TILE)
    for j in range(3):
        at = f.iota(wide) + f.splat(f.left + j, wide)
        inside.append(at.compare("sge", 0) & at.compare("slt", f.splat(f.columns, wide)))
    with f.loop(0, f.channels) as c:
        corner = f.at(f.x, (f.image * f.channels + c) * plane + f.top * f.columns + f.left)
        to = f.at(f.patches, c * (TAPS * SIDE))
        for i in range(REACH):
            row = f.top + i
            there = f.splat(row.compare("sge", 0) & row.compare("slt", f.rows), flags)
            for j in range(3):
                line = f.load(four, corner, f.columns * i + j, mask=there & inside[j])
                for tap in range(max(0, i - TILE + 1), min(3, i + 1)):
                    f.store(line, to, (tap * 3 + j) * SIDE + (i - tap) * TILE)
    last = f.results - 1
    with f.loop(0, f.results, TOGETHER) as first:
        channels = [f.smaller(first + k, last) for k in range(TOGETHER)]
        weights = [f.at(f.w, o * f.out_step) for o in channels]
        sums = [f.var(kind, 0.0) for _ in channels]
        start, step = (
            f.select(f.turned.compare("ne", 0), f.const(8, "i64"), 0),
            f.select(f.turned.compare("ne", 0), f.const(-1, "i64"), 1),
        )
        with f.loop(0, f.channels) as c:
            patch = f.at(f.patches, c * (TAPS * SIDE))
            for t in range(TAPS):
                pixels = f.load(kind, patch, t * SIDE)
                for at, total in zip(weights, sums, strict=True):
                    weight = f.splat(f.load("float", at, c * f.in_step + start + step * t), kind)
                    total.set(f.fma(pixels, weight, total.get()))
        wanted = f.iota(wide).compare("slt", f.splat(f.out_columns - f.out_left, wide))
        for o, total in zip(channels, sums, strict=True):
            made = total.get() + f.splat(f.load("float", f.bias, o), kind)
            to = f.at(
                f.out,
                ((f.image * f.results + o) * f.out_rows + f.out_top) * f.out_columns + f.out_left,
            )
            for i in range(TILE):
                with f.when((f.out_top + i).compare("slt", f.out_rows)):
                    f.store(
                        f.shuffle(made, made, list(range(i * TILE, i * TILE + TILE))),
                        to,
                        f.out_columns * i,
                        mask=wanted,
                    )
    f.ret()


# ---- the gradient in the weight ------------------------------------------------------------------------
# Floats in the sums of a row of tiles: nine taps, the bound, the total sizes of input and gradient,
# then the largest sizes of both.
_BOUND, _SIZES, _LARGEST = 9, 10, 12


def sums_of_row(
    f: Function, x: Map, g: Map, across: SSAValue, to: SSAValue, work: SSAValue
) -> None:
    """Emit the contribution of a row of tiles to the sums that decide about the weight gradient:
    SUMS floats.
    """
    lanes = kernels.lanes()
    kind = vector("float", lanes)
    sums = [f.var(kind, 0.0) for _ in range(TAPS + 1 + 2)]
    largest = [f.var(kind, 0.0), f.var(kind, 0.0)]
    most = work, f.at(work, x.pitch)
    with f.loop(0, across * TILE + 2, lanes) as k:
        data = [[f.load(kind, x.at, x.pitch * i + k + j) for j in range(3)] for i in range(REACH)]
        gradient = [f.load(kind, g.at, g.pitch * i + k) for i in range(TILE)]
        for i in range(3):
            for j in range(3):
                total = sums[3 * i + j].get()
                for r in range(TILE):
                    total = f.fma(gradient[r], data[r + i][j], total)
                sums[3 * i + j].set(total)
        for side, rows in enumerate(([line[0] for line in data], gradient)):
            top, total = rows[0], rows[0]
            for row in rows[1:]:
                top, total = f.larger(row, top), total + row
            f.store(top, most[side], k)
            sums[_SIZES + side].set(sums[_SIZES + side].get() + total)
            largest[side].set(f.larger(top, largest[side].get()))
    bound = f.var("float", 0.0)
    with f.loop(0, across) as tile:
        at = tile * TILE
        of_x = f.fold(
            f.larger(*(f.load(vector("float", 4), most[0], at + i) for i in (0, 2))), f.larger
        )
        of_g = f.fold(f.load(vector("float", 4), most[1], at), f.larger)
        bound.set(f.fma(of_x, of_g, bound.get()))
    for index, held in enumerate(sums):
        f.store(bound.get() if index == _BOUND else f.total(held.get()), to, index)
    for side in range(2):
        f.store(f.fold(largest[side].get(), f.larger), to, _LARGEST + side)


def emit_balance(module: Module) -> None:
    """Emit `balance(sums, rows, status)`, which adds the results of `sums_of_row` in order and
    checks them.
    """
    f = module.function("balance", internal=True, sums="ptr", rows="i64", status="ptr")
    totals = [f.var("float", 0.0) for _ in range(_LARGEST + 2)]
    with f.loop(0, f.rows) as row:
        at = f.at(f.sums, row * SUMS)
        for index, total in enumerate(totals):
            value = f.load("float", at, index)
            total.set(f.larger(value, total.get()) if index >= _LARGEST else total.get() + value)
    values = [total.get() for total in totals]
    least = values[0]
    for value in values[1:TAPS]:
        least = f.smaller(value, least)
    uneven = _uneven(f, values[_BOUND], least * SPREAD)
    for side in range(2):
        uneven = uneven | _uneven(f, values[_LARGEST + side], values[_SIZES + side] * (1 / FEWEST))
    tell(f, uneven, f.status)
    f.ret()
