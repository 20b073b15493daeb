"""The parts of Winograd's convolutions: one-dimensional transforms, their application in two
dimensions, and the product.

A correlation of 6 values with 3 taps gives 4 results and needs only 6 multiplications (Winograd
1980; Lavin & Gray 2015). Both operands are regarded as polynomials, evaluated at the points 0,
±3/4, ±3/2 and infinity, multiplied there, and interpolated (Toom and Cook). In two dimensions that
takes 36 multiplications instead of 144. The choice of points determines the rounding errors. Pairs
±a, ±b keep the transforms short. Among the pairs whose squares are exact in float32, these had half
the error of the usual ±1, ±2 (and a third of the largest errors).

The weight gradient correlates 6 values with 4 of the output's gradient, and has 3 results. It uses
the same points, with the roles of 3 and 4 exchanged, and the same transform of the data.

Every value is a vector whose lanes are channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...llvm import target
from ...llvm.emit import Function, Module, SSAValue, vector

A, B = 0.75, 1.5  # the points besides 0 and infinity are ±A and ±B
TILE = 4  # results of a tile, in each dimension
REACH = TILE + 2  # source values of a tile, in each dimension; also the points
POINTS = REACH * REACH

Line = Callable[[Function, Sequence[SSAValue]], list[SSAValue]]


def data_line(f: Function, d: Sequence[SSAValue]) -> list[SSAValue]:
    """Evaluate six source values at the six points: the coefficients of x^4 - (A²+B²) x² + A²B²,
    and of the same polynomial with one root removed.
    """
    a2, b2 = A * A, B * B
    middle, end = f.const(-(a2 + b2), d[0].ctype), f.const(a2 * b2, d[0].ctype)
    made = [f.fma(d[0], end, f.fma(d[2], middle, d[4]))]
    for root, other in ((A, b2), (B, a2)):
        even, odd = f.fma(d[2], -other, d[4]), f.fma(d[1], -other, d[3])
        made += [f.fma(odd, root, even), f.fma(odd, -root, even)]
    made.append(f.fma(d[1], end, f.fma(d[3], middle, d[5])))
    return made


def taps_line(f: Function, g: Sequence[SSAValue]) -> list[SSAValue]:
    """Evaluate three or four taps at the six points, divided by the divisors of the interpolation."""
    a2, b2 = A * A, B * B
    made = [g[0] * (1 / (a2 * b2))]
    for root, square, scale in (
        (A, a2, 1 / (2 * a2 * (a2 - b2))),
        (B, b2, 1 / (2 * b2 * (b2 - a2))),
    ):
        even, odd = f.fma(g[2], square, g[0]) * scale, g[1]
        if len(g) == 4:
            odd = f.fma(g[3], square, odd)
        made += [f.fma(odd, root * scale, even), f.fma(odd, -root * scale, even)]
    return [*made, g[-1]]


def result_line(count: int) -> Line:
    """Return the interpolation from products at the six points to `count` (3 or 4) results."""

    def line(f: Function, m: Sequence[SSAValue]) -> list[SSAValue]:
        sums, differences = (m[1] + m[2], m[3] + m[4]), (m[1] - m[2], m[3] - m[4])
        made = [m[0] + (sums[0] + sums[1])]
        for power in range(1, count):
            low, high = differences if power % 2 else sums
            last = power == count - 1
            start = f.fma(low, A**power, m[5]) if last else low * A**power
            made.append(f.fma(high, B**power, start))
        return made

    return line


def square(f: Function, line: Line, rows: Sequence[Sequence[SSAValue]]) -> list[list[SSAValue]]:
    """Apply a transform along the columns, then along the rows."""
    columns = [line(f, [row[j] for row in rows]) for j in range(len(rows[0]))]
    return [line(f, [column[i] for column in columns]) for i in range(len(columns[0]))]


# ---- the product -------------------------------------------------------------------------------------
def tiles() -> dict[int, int]:
    """Return a dictionary from the number of vectors of columns in a tile of the product to its
    number of rows: as much as fits in registers without spilling, widest first.
    """
    # 16 registers instead of 32
    if target.host().arch == "x86" and target.host().vector_bits < 512:
        return {2: 6, 1: 8}
    return {4: 6, 2: 12, 1: 14}


def panels(channels: int, lanes: int) -> list[tuple[int, int]]:
    """Return (first vector, number of vectors) of the panels that `channels` columns are cut into.

    >>> panels(100, 16) == [(0, 4), (4, 2), (6, 1)] if 4 in tiles() else True
    True
    """
    made, at, count = [], 0, -(-channels // lanes)
    for width in tiles():
        while count - at >= width:
            made.append((at, width))
            at += width
    return made


def emit_products(module: Module) -> None:
    """Emit `product.W(a, a_row, a_k, b, b_row, out, out_row, rows, depth, fresh)` for panels of W
    vectors.

    out[i, :] = (fresh ? 0 : out[i, :]) + (sum over k of a[i * a_row + k * a_k] * b[k * b_row + :],
    in the order of k).
    """
    lanes = target.host().lanes("float")
    kind = vector("float", lanes)
    for width, most in tiles().items():
        f = module.function(
            f"product.{width}",
            internal=True,
            a="ptr",
            a_row="i64",
            a_k="i64",
            b="ptr",
            b_row="i64",
            out="ptr",
            out_row="i64",
            rows="i64",
            depth="i64",
            fresh="i64",
        )
        f.noinline = True

        def some(i: SSAValue, count: int, f: Function = f, width: int = width) -> None:
            sources = [f.at(f.a, (i + r) * f.a_row) for r in range(count)]
            places = [
                [f.at(f.out, (i + r) * f.out_row + v * lanes) for v in range(width)]
                for r in range(count)
            ]
            sums = [[f.var(kind, 0.0) for _ in range(width)] for _ in range(count)]
            with f.loop(0, f.depth) as k:
                line = f.at(f.b, k * f.b_row)
                columns = [f.load(kind, line, v * lanes) for v in range(width)]
                step = k * f.a_k
                for source, row in zip(sources, sums, strict=True):
                    factor = f.splat(f.load("float", source, step), kind)
                    for total, column in zip(row, columns, strict=True):
                        total.set(f.fma(factor, column, total.get()))
            # The previous content is added last: sums of sums have smaller errors.
            with f.when(f.fresh.compare("eq", 0)):
                for row, where in zip(sums, places, strict=True):
                    for total, place in zip(row, where, strict=True):
                        total.set(total.get() + f.load(kind, place))
            for row, where in zip(sums, places, strict=True):
                for total, place in zip(row, where, strict=True):
                    f.store(total.get(), place)

        done = f.const(0, "i64")
        for count in (most, 4, 2, 1):
            if count < most or count == most:
                last = f.rows - (f.rows - done) % count
                with f.loop(done, last, count) as i:
                    some(i, count)
                done = last
        f.ret()


def call(f: Function, name: str, *arguments: SSAValue | int) -> None:
    """Emit a call of a function of the module, or of the function at an address (a name with %).
    Python ints are passed as i64.
    """
    text = [f"i64 {x}" if isinstance(x, int) else f"{x.ctype} {x.name}" for x in arguments]
    f.line(f"call void {name if name.startswith('%') else '@' + name}({', '.join(text)})")
