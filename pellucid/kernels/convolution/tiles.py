"""The native code of convolution in LLVM IR: packing, register tiles and drivers. `call.py`
combines them.

Everything works on tables that `plan.py` computes once per shape, so one compiled kernel serves
every kernel size, stride, dilation, padding and number of dimensions. The central kernel is the
tile. With packed input rows each kernel tap is a constant offset, so `width` output channels x
`vectors` vectors of neighboring pixels stay in registers while the kernel iterates over input
channels and taps: out[oc, p] = sum_k w[k, oc] * x[koff[k] + p] (an "indirect" convolution: M.
Dukhan, 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ...llvm import jit, target
from ...llvm.emit import Function, Module, SSAValue, vector
from ...llvm.threads import parallel_export

Natives = Any  # dict[str, Callable]: compiled functions by name; None where they cannot be compiled

# Descriptor of a packed source: 64-bit words.
PACK_ROWS, PACK_SOURCES, PACK_TARGETS, PACK_STEP, PACK_PHASES = range(5)
PHASE_WORDS = 3  # first source column, count, target offset
# Descriptor of an interleaved result.
UNPACK_ROWS, UNPACK_TARGETS, UNPACK_STEP, UNPACK_PHASES = range(4)
# Descriptor of a correlation.
(
    BLOCK_IMAGES,
    CHANNELS,
    SOURCE_CHANNEL,
    SOURCE_IMAGE,
    PACKED_CHANNEL,
    PACK,
    GROUPS,
    SEGMENTS,
    SEGMENT_TABLE,
    JOBS,
    JOB_TABLE,
    SPLIT,
    CHUNK,
    OUT_IMAGE,
    OUT_PLANE,
    OUT_GROUP,
    TEMP,
    PACK_FUNCTION,
    UNPACK_FUNCTION,
    VECTORS,
    SCRATCH,
    GROUP_CHANNELS,
    DIRECT,
) = range(23)
CORRELATION_WORDS = 23
SEG_FUNCTION, SEG_TILES, SEG_FIRST, SEG_WIDTH = range(4)
SEGMENT_WORDS = 4
(
    JOB_K,
    JOB_KOFF,
    JOB_BASE,
    JOB_MASK,
    JOB_DST,
    JOB_VECTORS,
    JOB_OFFSET,
    JOB_PLANE,
    JOB_UNPACK,
    JOB_WEIGHTS,
) = range(10)
JOB_WORDS = 10


def lanes(real: str = "float") -> int:
    """Return how many numbers a vector register holds."""
    return target.host().lanes(real)


def compresses() -> bool:
    """Return whether one instruction can compress a vector's valid lanes (AVX-512)."""
    return target.host().vector_bits == 512


def tile_vectors(width: int) -> int:
    """Return how many vectors of pixels, together with `width` output channels, fill the register
    file without spilling.
    """
    # 16 registers instead of 32
    if target.host().arch == "x86" and target.host().vector_bits < 512:
        return {8: 1, 4: 3, 2: 4, 1: 4}[width]
    return {8: 3, 4: 6, 2: 8, 1: 8}[width]


def widest_tile() -> int:
    """Return the number of output channels of the fastest tile."""
    return 4 if target.host().arch == "x86" and target.host().vector_bits < 512 else 8


def outer_tiles() -> dict[int, int]:
    """For the weight gradient: a dictionary from the number of vectors of output channels in a tile
    to the number of kernel taps in it.
    """
    if target.host().arch == "x86" and target.host().vector_bits < 512:
        return {2: 4, 1: 8}
    return {4: 6, 2: 9, 1: 9}


DOT_TAPS = 6  # taps of the weight gradient's tile for a single output channel


def _words(f: Function, table: SSAValue, index: int) -> SSAValue:
    return f.load("i64", table, index)


def _pointer(f: Function, table: SSAValue, index: int) -> SSAValue:
    return f.load("ptr", f.at(table, index, "i64"))


def _bytes(f: Function, pointer: SSAValue, offset: SSAValue | int) -> SSAValue:
    return f.at(pointer, offset, "i8")


def compiled(
    real: str, name: str, exports: dict[str, str], build: Callable[[Module], None]
) -> Natives:
    """Compile the functions that `build` emits, for float32 ("float") or float64 ("double")."""

    def text() -> str:
        module = Module(real)
        build(module)
        return module.text()

    return jit.compile_source(text, exports, name if real == "float" else f"{name}_{real}")


def _vector(module: Module) -> tuple[str, int]:
    """Return the type of a vector register of a module's numbers, and how many it holds."""
    width = lanes(module.real)
    return vector(module.real, width), width


# Packing.


@cache
def packing(real: str = "float") -> Natives:
    """Return the functions `pack` and `clear`."""

    def build(module: Module) -> None:
        _emit_pack(module)
        f = module.function("clear", pointer="ptr", count="i64")
        clear(f, f.pointer, f.count)
        f.ret()

    return compiled(real, "conv_pack", {"pack": "papiiiii", "clear": "pi"}, build)


@cache
def unpacking(real: str = "float") -> Natives:
    """Return the function `unpack`."""
    return compiled(real, "conv_unpack", {"unpack": "pppiiiii"}, _emit_unpack)


@cache
def turning(real: str = "float") -> Natives:
    """Return the functions `transpose`, `turn`, `sum_lanes` and `add`."""

    def build(module: Module) -> None:
        _emit_transpose(module)
        _emit_turns(module)
        _emit_sum_lanes(module)
        # count is a whole number of vectors
        f = module.function("add", dst="ptr", src="ptr", count="i64")
        kind, width = _vector(module)
        with f.loop(0, f.count, width) as i:
            f.store(f.load(kind, f.dst, i) + f.load(kind, f.src, i), f.dst, i)
        f.ret()

    exports = {"transpose": "pipiii", "turn": "aipiiiiiii", "sum_lanes": "paiii", "add": "ppi"}
    return compiled(real, "conv_turn", exports, build)


def _emit_pack(module: Module) -> None:
    """Emit the kernel that copies rows of images into the padded layout, with columns split by
    their remainder modulo the stride.
    """
    f = module.function(
        "pack",
        desc="ptr",
        src="ptr",
        dst="ptr",
        images="i64",
        image="i64",
        channels="i64",
        channel="i64",
        packed="i64",
    )
    rows, step = _words(f, f.desc, PACK_ROWS), _words(f, f.desc, PACK_STEP)
    sources, targets = _pointer(f, f.desc, PACK_SOURCES), _pointer(f, f.desc, PACK_TARGETS)
    phases = _pointer(f, f.desc, PACK_PHASES)

    def each_row(copy: Callable[[SSAValue, SSAValue], None]) -> None:
        with f.loop(0, f.images) as n, f.loop(0, f.channels) as c:
            from_plane = f.at(f.src, n * f.image + c * f.channel)
            to_plane = f.at(f.dst, (n * f.channels + c) * f.packed)
            with f.loop(0, rows) as r:
                copy(
                    f.at(from_plane, f.load("i64", sources, r)),
                    f.at(to_plane, f.load("i64", targets, r)),
                )

    def plain() -> None:
        first, count, offset = (_words(f, phases, i) for i in range(3))
        each_row(lambda src, dst: _copy(f, f.at(src, first), f.at(dst, offset), count))

    def halves() -> None:
        first, even, to_even = (_words(f, phases, i) for i in range(3))
        odd, to_odd = (_words(f, phases, PHASE_WORDS + i) for i in (1, 2))
        kind, width = _vector(module)
        # The end of the columns that belong to either half.
        reach = _max(f, even * 2 - 1, odd * 2)
        most = _max(f, even, odd)

        def copy(src: SSAValue, dst: SSAValue) -> None:
            src = f.at(src, first)
            with f.loop(0, most, width) as i:
                a = f.load(kind, src, i * 2, mask=f.tail_mask(reach - i * 2, width))
                b = f.load(kind, src, i * 2 + width, mask=f.tail_mask(reach - i * 2 - width, width))
                f.store(
                    f.shuffle(a, b, list(range(0, 2 * width, 2))),
                    f.at(dst, to_even),
                    i,
                    f.tail_mask(even - i, width),
                )
                f.store(
                    f.shuffle(a, b, list(range(1, 2 * width, 2))),
                    f.at(dst, to_odd),
                    i,
                    f.tail_mask(odd - i, width),
                )

        each_row(copy)

    def general() -> None:
        def copy(src: SSAValue, dst: SSAValue) -> None:
            with f.loop(0, step) as phase:
                record = f.at(phases, phase * PHASE_WORDS, "i64")
                first, count, offset = (_words(f, record, i) for i in range(3))
                with f.loop(0, count) as i:
                    f.store(f.load(f.module.real, src, first + i * step), dst, offset + i)

        each_row(copy)

    f.branch(step.compare("eq", 1), plain, lambda: f.branch(step.compare("eq", 2), halves, general))
    f.ret()


def _max(f: Function, a: SSAValue, b: SSAValue) -> SSAValue:
    return f.larger(a, b)


def _copy(f: Function, src: SSAValue, dst: SSAValue, count: SSAValue) -> None:
    kind, width = _vector(f.module)

    def body(i: SSAValue, mask: SSAValue | None) -> None:
        f.store(f.load(kind, src, i, mask=mask), dst, i, mask=mask)

    f.vector_loop(count, width, body)


def _emit_unpack(module: Module) -> None:
    """Emit the kernel that interleaves `step` separate grids of columns (one per remainder of the
    stride) into rows of the result.

    A grid is stored in `temp` as [lane][image][row][column], with `block` images.
    """
    f = module.function(
        "unpack",
        desc="ptr",
        temp="ptr",
        dst="ptr",
        images="i64",
        width="i64",
        image="i64",
        plane="i64",
        block="i64",
    )
    rows, step = _words(f, f.desc, UNPACK_ROWS), _words(f, f.desc, UNPACK_STEP)
    targets, phases = _pointer(f, f.desc, UNPACK_TARGETS), _pointer(f, f.desc, UNPACK_PHASES)

    def each_row(copy: Callable[[SSAValue, SSAValue], None]) -> None:
        with f.loop(0, f.width) as lane, f.loop(0, f.images) as n, f.loop(0, rows) as r:
            to = _bytes(f, f.dst, lane * f.plane + n * f.image)
            copy((lane * f.block + n) * rows + r, f.at(to, f.load("i64", targets, r)))

    def grid(record: SSAValue, row: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
        first, count, offset = (_words(f, record, i) for i in range(3))
        return first, count, f.at(f.temp, offset + row * count)

    def plain() -> None:
        def copy(row: SSAValue, dst: SSAValue) -> None:
            first, count, src = grid(phases, row)
            _copy(f, src, f.at(dst, first), count)

        each_row(copy)

    def halves() -> None:
        kind, width = _vector(module)
        low = [i // 2 + (i % 2) * width for i in range(width)]

        def copy(row: SSAValue, dst: SSAValue) -> None:
            _, even, a_row = grid(phases, row)
            _, odd, b_row = grid(f.at(phases, PHASE_WORDS, "i64"), row)
            with f.loop(0, even, width) as i:
                a = f.load(kind, a_row, i, mask=f.tail_mask(even - i, width))
                b = f.load(kind, b_row, i, mask=f.tail_mask(odd - i, width))
                left = even + odd - i * 2
                f.store(f.shuffle(a, b, low), dst, i * 2, f.tail_mask(left, width))
                high = [p + width // 2 for p in low]
                f.store(f.shuffle(a, b, high), dst, i * 2 + width, f.tail_mask(left - width, width))

        each_row(copy)

    def general() -> None:
        def copy(row: SSAValue, dst: SSAValue) -> None:
            with f.loop(0, step) as phase:
                first, count, src = grid(f.at(phases, phase * PHASE_WORDS, "i64"), row)
                with f.loop(0, count) as i:
                    f.store(f.load(f.module.real, src, i), dst, first + i * step)

        each_row(copy)

    f.branch(step.compare("eq", 1), plain, lambda: f.branch(step.compare("eq", 2), halves, general))
    f.ret()


def _emit_transpose(module: Module) -> None:
    """Emit dst[j * to_row + i] = src[i * from_row + j] for i < rows, j < columns, which works on
    one square of vectors at a time.
    """
    f = module.function(
        "transpose", src="ptr", from_row="i64", dst="ptr", to_row="i64", rows="i64", columns="i64"
    )
    kind, width = _vector(module)
    with f.loop(0, f.rows, width) as i0, f.loop(0, f.columns, width) as j0:
        src = f.at(f.src, i0 * f.from_row + j0)
        dst = f.at(f.dst, j0 * f.to_row + i0)
        rows, columns = f.rows - i0, f.columns - j0

        def whole(src: SSAValue = src, dst: SSAValue = dst) -> None:
            square = _turned(f, [f.load(kind, src, f.from_row * i) for i in range(width)])
            for j in range(width):
                f.store(square[j], dst, f.to_row * j)

        def edge(
            src: SSAValue = src,
            dst: SSAValue = dst,
            rows: SSAValue = rows,
            columns: SSAValue = columns,
        ) -> None:
            in_row, in_column = f.tail_mask(columns, width), f.tail_mask(rows, width)
            none = f.const(0, vector("i1", width))

            def there(count: SSAValue, i: int, mask: SSAValue) -> SSAValue:
                return f.select(f.splat(count.compare("sgt", i), vector("i1", width)), mask, none)

            square = _turned(
                f,
                [
                    f.load(kind, src, f.from_row * i, mask=there(rows, i, in_row))
                    for i in range(width)
                ],
            )
            for j in range(width):
                f.store(square[j], dst, f.to_row * j, mask=there(columns, j, in_column))

        f.branch(f.smaller(rows, columns).compare("sge", width), whole, edge)
    f.ret()


def _turned(f: Function, square: list[SSAValue]) -> list[SSAValue]:
    """Transpose a square of vectors, with shuffles that are one cheap instruction each on x86.

    Quarters of registers (four floats) are transposed first, then the quarters themselves.
    """
    width = len(square)
    if width == 2:
        return [f.shuffle(square[0], square[1], [i, 2 + i]) for i in range(2)]
    quarters = width // 4

    def within(a: SSAValue, b: SSAValue, pattern: list[int]) -> SSAValue:
        """Apply the same pattern of `a` (0..3) and `b` (4..7) in every quarter."""
        return f.shuffle(
            a,
            b,
            [
                4 * q + p if p < 4 else width + 4 * q + p - 4
                for q in range(quarters)
                for p in pattern
            ],
        )

    def across(a: SSAValue, b: SSAValue, pick: list[int]) -> SSAValue:
        """Select quarters of `a` (0 ..) and `b` (quarters ..)."""
        return f.shuffle(a, b, [4 * p + i for p in pick for i in range(4)])

    turned: list[list[SSAValue]] = []  # for each group of four rows: column c of every quarter
    for g in range(0, width, 4):
        first, second, third, fourth = square[g : g + 4]
        ab, cd = within(first, second, [0, 4, 1, 5]), within(third, fourth, [0, 4, 1, 5])
        ab_high, cd_high = within(first, second, [2, 6, 3, 7]), within(third, fourth, [2, 6, 3, 7])
        pairs = ((ab, cd), (ab_high, cd_high))
        turned.append(
            [within(x, y, pattern) for x, y in pairs for pattern in ([0, 1, 4, 5], [2, 3, 6, 7])]
        )
    if quarters == 1:
        return turned[0]
    columns: list[SSAValue | None] = [None] * width
    for i in range(4):
        rows = [group[i] for group in turned]
        if quarters == 2:
            columns[i], columns[4 + i] = (
                across(rows[0], rows[1], [0, 2]),
                across(rows[0], rows[1], [1, 3]),
            )
            continue
        for q, half in ((0, [0, 1, 4, 5]), (2, [2, 3, 6, 7])):
            left, right = across(rows[0], rows[1], half), across(rows[2], rows[3], half)
            columns[4 * q + i] = across(left, right, [0, 2, 4, 6])
            columns[4 * q + 4 + i] = across(left, right, [1, 3, 5, 7])
    return [column for column in columns if column is not None]


def _emit_turns(module: Module) -> None:
    """Emit a kernel that runs `times` transpositions, `src_step` and `dst_step` elements apart,
    starting at the byte `start` of the source.
    """
    numbers = ("times", "src_step", "dst_step", "from_row", "to_row", "rows", "columns")
    params = {"src": "ptr", "start": "i64", "dst": "ptr", **dict.fromkeys(numbers, "i64")}
    f = module.function("turn", "void", False, **params)
    first = _bytes(f, f.src, f.start)
    with f.loop(0, f.times) as i:
        src, dst = f.at(first, i * f.src_step), f.at(f.dst, i * f.dst_step)
        f.call("transpose", src, f.from_row, dst, f.to_row, f.rows, f.columns)
    f.ret()


def _emit_sum_lanes(module: Module) -> None:
    """Emit dst[i, k] = sum of the lanes of src[i, k] for k < columns, where rows of src have `row`
    vectors.
    """
    f = module.function("sum_lanes", src="ptr", dst="ptr", rows="i64", columns="i64", row="i64")
    kind, width = _vector(module)
    with f.loop(0, f.rows) as i, f.loop(0, f.columns) as k:
        value = f.load(kind, f.src, (i * f.row + k) * width)
        f.store(f.total(value), f.dst, i * f.columns + k)
    f.ret()


# Tiles.


@cache
def tile(width: int, real: str = "float") -> Natives:
    """Return the functions `tile` (see the module's docstring) and `weights`, which lays out the
    weights for it, for `width` output channels.
    """

    def build(module: Module) -> None:
        _emit_tile(module, width, tile_vectors(width))
        _emit_weights(module, width)

    return compiled(
        real, f"conv_tile_{width}", {"tile": "p" * 10 + "iid", "weights": "paipipi"}, build
    )


def lane_mask(f: Function, table: SSAValue, index: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return the mask of a vector's valid lanes, and a mask of as many lanes from the first on."""
    width = lanes(f.module.real)
    bits = f.load("i16", table, index)
    count = f.emit(f"zext i16 {f.intrinsic('ctpop', 'i16', bits).name} to i32", "i32")
    small = bits if width == 16 else f.trunc(bits, f"i{width}")
    wide = vector("i32", width)
    prefix = f.iota(wide).compare("slt", f.splat(count, wide))
    return f.bitcast(small, vector("i1", width)), prefix


def _emit_tile(module: Module, width: int, vectors: int) -> None:
    f = module.function(
        "tile",
        x="ptr",
        koff="ptr",
        w="ptr",
        bias="ptr",
        base="ptr",
        mask="ptr",
        dst="ptr",
        out="ptr",
        k="i64",
        plane="i64",
        first="i64",
        last="i64",
        floor="double",
    )
    kind, _ = _vector(module)
    biases = [f.splat(f.load(f.module.real, f.bias, i), kind) for i in range(width)]
    floor = f.splat(f.trunc(f.floor, module.real), kind)

    def body(v: SSAValue, count: int) -> None:
        xs = [_bytes(f, f.x, f.load("i64", f.base, v + j)) for j in range(count)]
        sums = [[f.var(kind, bias) for _ in range(count)] for bias in biases]
        with f.loop(0, f.k) as k:
            offset = f.load("i64", f.koff, k)
            pixels = [f.load(kind, _bytes(f, x, offset)) for x in xs]
            weights = f.at(f.w, k * width)
            for i in range(width):
                weight = f.splat(f.load(f.module.real, weights, i), kind)
                for j in range(count):
                    sums[i][j].set(f.fma(pixels[j], weight, sums[i][j].get()))
        for j in range(count):
            valid, prefix = lane_mask(f, f.mask, v + j)
            to = _bytes(f, f.out, f.load("i64", f.dst, v + j))
            for i in range(width):
                value = sums[i][j].get()
                value = f.select(value.compare("olt", floor), floor, value)  # keeps NaN
                f.store(compress(f, value, valid), _bytes(f, to, f.plane * i), mask=prefix)

    whole = f.last - (f.last - f.first) % vectors
    with f.loop(f.first, whole, vectors) as v:
        body(v, vectors)
    if vectors > 1:
        with f.loop(whole, f.last) as v:
            body(v, 1)
    f.ret()


def compress(f: Function, value: SSAValue, valid: SSAValue) -> SSAValue:
    """Move the valid lanes to the front. Where the processor cannot do that, plans have them there
    already.
    """
    if not compresses():
        return value
    zero = f.const(0, value.ctype)
    return _intrinsic512(f, "compress", value, zero, valid)


def _expand(f: Function, value: SSAValue, valid: SSAValue) -> SSAValue:
    """Reverse `compress`; lanes that are not valid become zero."""
    if not compresses():
        return f.select(valid, value, 0.0)
    return _intrinsic512(f, "expand", value, f.const(0, value.ctype), valid)


def _intrinsic512(
    f: Function, name: str, value: SSAValue, other: SSAValue, mask: SSAValue
) -> SSAValue:
    kind = "v16f32" if f.module.real == "float" else "v8f64"
    full = f"llvm.x86.avx512.mask.{name}.{kind}"
    f.module.declarations.add(
        f"declare {value.ctype} @{full}({value.ctype}, {value.ctype}, {mask.ctype})"
    )
    operands = f"{value.ctype} {value.name}, {value.ctype} {other.name}, {mask.ctype} {mask.name}"
    return f.emit(f"call {value.ctype} @{full}({operands})", value.ctype)


def _emit_weights(module: Module, width: int) -> None:
    """Emit dst[t, k, i] = src[tile_src[t] + k_src[k] + i * lane] for `width` lanes i."""
    f = module.function(
        "weights",
        dst="ptr",
        src="ptr",
        tiles="i64",
        tile_src="ptr",
        k="i64",
        k_src="ptr",
        lane="i64",
    )
    with f.loop(0, f.tiles) as t:
        start = f.at(f.src, f.load("i64", f.tile_src, t))
        to = f.at(f.dst, t * f.k * width)
        with f.loop(0, f.k) as k:
            one = f.at(start, f.load("i64", f.k_src, k))
            for i in range(width):
                f.store(f.load(f.module.real, one, f.lane * i), to, k * width + i)
    f.ret()


# Drivers.


@cache
def driver(real: str = "float") -> Natives:
    """Return the function `correlate(team, desc, x, w, bias, out, scratch, images, floor, n,
    grain)`, which runs a whole correlation.
    """
    return compiled(real, "conv_drive", {"correlate": "paapaapidii"}, _emit_correlate)


def _emit_correlate(module: Module) -> None:
    f = parallel_export(
        module,
        "correlate",
        {
            "desc": "ptr",
            "x": "ptr",
            "w": "ptr",
            "bias": "ptr",
            "out": "ptr",
            "scratch": "ptr",
            "images": "i64",
            "floor": "double",
        },
    )

    def word(index: int) -> SSAValue:
        return _words(f, f.desc, index)

    block, split, plane = word(BLOCK_IMAGES), word(SPLIT), word(OUT_PLANE)
    own = _bytes(f, f.scratch, f.thread * word(SCRATCH))
    temp = _bytes(f, own, word(TEMP))
    direct = word(DIRECT).compare("ne", 0)
    pack = _pointer(f, f.desc, PACK_FUNCTION)
    with f.when(word(DIRECT).compare("eq", 0)):
        clear(f, own, word(TEMP))
    with f.loop(f.begin, f.end) as task:
        first_image = (task // split) * block
        part = task % split
        count = f.smaller(f.images - first_image, block)
        source = f.at(f.x, first_image * word(SOURCE_IMAGE))
        packed = f.select(direct, source, own)

        def fill(source=source, count=count) -> None:
            f.line(
                f"call void {pack.name}(ptr {_pointer(f, f.desc, PACK).name}, ptr {source.name}, ptr {own.name}, "
                f"i64 {count.name}, i64 {word(SOURCE_IMAGE).name}, i64 {word(CHANNELS).name}, "
                f"i64 {word(SOURCE_CHANNEL).name}, i64 {word(PACKED_CHANNEL).name})"
            )

        with f.when(word(DIRECT).compare("eq", 0)):
            fill()
        chunk = word(CHUNK)
        with f.loop(0, word(GROUPS)) as group:
            x = f.at(packed, group * word(GROUP_CHANNELS) * word(PACKED_CHANNEL))
            out = _bytes(f, f.out, first_image * word(OUT_IMAGE) + group * word(OUT_GROUP) * plane)
            with (
                f.loop(0, word(VECTORS) * count, chunk) as start,
                f.loop(0, word(SEGMENTS)) as segment,
            ):
                record = f.at(_pointer(f, f.desc, SEGMENT_TABLE), segment * SEGMENT_WORDS, "i64")
                tiles, width = _words(f, record, SEG_TILES), _words(f, record, SEG_WIDTH)
                with f.loop(part * tiles // split, (part + 1) * tiles // split) as t:
                    channel = _words(f, record, SEG_FIRST) + t * width
                    bias = f.at(f.bias, group * word(OUT_GROUP) + channel)
                    to = _bytes(f, out, channel * plane)
                    with f.loop(0, word(JOBS)) as j:
                        job = f.at(_pointer(f, f.desc, JOB_TABLE), j * JOB_WORDS, "i64")
                        k = _words(f, job, JOB_K)
                        of_segment = _pointer(f, job, JOB_WEIGHTS)
                        w_first = f.load("i64", of_segment, segment)
                        w = f.at(f.w, w_first + (group * tiles + t) * k * width)
                        through = _words(f, job, JOB_UNPACK).compare("ne", 0)
                        last = f.smaller(start + chunk, _words(f, job, JOB_VECTORS) * count)
                        into = f.select(
                            _words(f, job, JOB_PLANE).compare("eq", 0),
                            to,
                            _bytes(f, temp, _words(f, job, JOB_OFFSET)),
                        )
                        step = f.select(
                            _words(f, job, JOB_PLANE).compare("eq", 0),
                            plane,
                            _words(f, job, JOB_PLANE),
                        )
                        arrays = [
                            _pointer(f, job, i) for i in (JOB_KOFF, JOB_BASE, JOB_MASK, JOB_DST)
                        ]
                        f.line(
                            f"call void {_pointer(f, record, SEG_FUNCTION).name}(ptr {x.name}, ptr {arrays[0].name}, "
                            f"ptr {w.name}, ptr {bias.name}, ptr {arrays[1].name}, ptr {arrays[2].name}, "
                            f"ptr {arrays[3].name}, ptr {into.name}, i64 {k.name}, i64 {step.name}, i64 {start.name}, "
                            f"i64 {last.name}, double {f.floor.name})"
                        )
                        with f.when(through):
                            f.line(
                                f"call void {_pointer(f, f.desc, UNPACK_FUNCTION).name}("
                                f"ptr {_pointer(f, job, JOB_UNPACK).name}, ptr {temp.name}, ptr {to.name}, "
                                f"i64 {count.name}, i64 {width.name}, i64 {word(OUT_IMAGE).name}, i64 {plane.name}, "
                                f"i64 {block.name})"
                            )
    f.ret()


def clear(f: Function, pointer: SSAValue, count: SSAValue) -> None:
    """Emit code that sets `count` bytes at `pointer` to zero."""
    f.module.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    f.line(f"call void @llvm.memset.p0.i64(ptr {pointer.name}, i8 0, i64 {count.name}, i1 false)")


def copy(f: Function, source: SSAValue, target: SSAValue, count: SSAValue) -> None:
    """Emit a copy of `count` numbers, a whole number of vectors, to memory that precedes or does
    not overlap them.
    """
    kind, width = _vector(f.module)
    with f.loop(0, count, width) as i:
        f.store(f.load(kind, source, i), target, i)


# Weight gradient.


@cache
def outer(vectors: int, real: str = "float") -> Natives:
    """Return the function `outer`: the weight gradient's tile of several taps x `vectors` vectors
    of output channels.

    result[k, oc] += sum over pixels of x[koff[k] + pixel[p]] * g[p, oc], with g transposed to
    channels last.
    """

    def build(module: Module) -> None:
        taps = outer_tiles()[vectors]
        f = _weight_tile(module, "outer")
        kind, width = _vector(module)
        with f.loop(0, f.tiles) as t:
            xs = [_bytes(f, f.x, f.load("i64", f.koff, t * taps + j)) for j in range(taps)]
            result = f.at(f.result, t * (taps * vectors * width))
            where = [
                [f.at(result, (j * vectors + i) * width) for i in range(vectors)]
                for j in range(taps)
            ]
            sums = [[f.var(kind, f.load(kind, place)) for place in row] for row in where]
            with f.loop(0, f.count) as p:
                offset = f.emit(f"zext i32 {f.load('i32', f.table0, p).name} to i64", "i64")
                row = f.at(f.g, p * (vectors * width))
                gs = [f.load(kind, row, i * width) for i in range(vectors)]
                for x, tap in zip(xs, sums, strict=True):
                    value = f.splat(f.load(f.module.real, _bytes(f, x, offset)), kind)
                    for total, g in zip(tap, gs, strict=True):
                        total.set(f.fma(value, g, total.get()))
            for tap, places in zip(sums, where, strict=True):
                for total, place in zip(tap, places, strict=True):
                    f.store(total.get(), place)
        f.ret()

    return compiled(real, f"conv_outer_{vectors}", {"outer": "p" * 7 + "ii"}, build)


@cache
def dot(real: str = "float") -> Natives:
    """Return the function `dot`: the weight gradient's tile for one output channel, with pixels in
    the lanes. The lanes are summed later.
    """

    def build(module: Module) -> None:
        f = _weight_tile(module, "dot")
        kind, width = _vector(module)
        with f.loop(0, f.tiles) as t:
            xs = [_bytes(f, f.x, f.load("i64", f.koff, t * DOT_TAPS + j)) for j in range(DOT_TAPS)]
            where = [f.at(f.result, (t * DOT_TAPS + j) * width) for j in range(DOT_TAPS)]
            sums = [f.var(kind, f.load(kind, place)) for place in where]
            with f.loop(0, f.count) as v:
                valid, prefix = lane_mask(f, f.table1, v)
                g = f.load(kind, _bytes(f, f.g, f.load("i64", f.table2, v)), mask=prefix)
                g = _expand(f, g, valid)
                offset = f.load("i64", f.table0, v)
                for x, total in zip(xs, sums, strict=True):
                    # Lanes that are not valid are zeroed: they would add 0 * x, and x may be
                    # infinite there.
                    value = f.select(valid, f.load(kind, _bytes(f, x, offset)), 0.0)
                    total.set(f.fma(value, g, total.get()))
            for total, place in zip(sums, where, strict=True):
                f.store(total.get(), place)
        f.ret()

    return compiled(real, "conv_dot", {"dot": "p" * 7 + "ii"}, build)


def _weight_tile(module: Module, name: str) -> Function:
    return module.function(
        name,
        g="ptr",
        x="ptr",
        koff="ptr",
        table0="ptr",
        table1="ptr",
        table2="ptr",
        result="ptr",
        count="i64",
        tiles="i64",
    )
