"""Elements at positions given by index arrays: reading, storing, adding and comparing, for arrays
of any strides.

A `Pick` iterates over a shape. At each point the place in the table is given by the table's
strides, plus for each index array its position at that point times the stride of the dimension that
it indexes. So gather, scatter, index_select, `x[i, :, j]` and their gradients share one kind of
kernel, generated for the shapes and strides of the call. A separate function checks all positions
before anything is written.

    >>> rows = Index("int64", (1, 0), size=3, step=2, wrap=True)
    >>> Pick("take", "float32", (4, 2), table=(0, 1), values=(2, 1), indices=(rows,)).merged().shape
    (4, 2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...llvm import target, threads
from ...llvm.emit import Function, Module, SSAValue, types_of, vector
from ..pointwise.values import available, is_half, pack, unpack

__all__ = ["Index", "Pick", "emit", "emit_check", "serves"]

GRAIN = 16384  # elements per chunk
_BY_SIZE = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}
_NUMBERS = types_of("float32 float64 int64 int32")
_SIZES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
    "complex64": 8,
}


@dataclass(frozen=True)
class Index:
    """An index array: its strides over the shape, the size of the dimension that it indexes, and
    the table's stride of that dimension (`step`), all in elements. With `wrap`, negative positions
    count from the end.
    """

    dtype: str
    strides: tuple[int, ...]
    size: int
    step: int
    wrap: bool


@dataclass(frozen=True)
class Pick:
    """An operation on elements at index arrays. `kind` is "take" (values = table[...]), "put"
    (table[...] = values), or "add", "mul", "max" or "min", which combine old and new elements of
    the table.
    """

    kind: str
    dtype: str
    shape: tuple[int, ...]
    table: tuple[int, ...]
    values: tuple[int, ...]
    indices: tuple[Index, ...]

    @property
    def size(self) -> int:
        """The number of elements that are moved."""
        return math.prod(self.shape)

    @property
    def shared(self) -> bool:
        """Whether threads may share the outermost dimension, since they write different elements."""
        return self.kind == "take" or bool(self.shape) and self.table[0] != 0

    def merged(self) -> Pick:
        """Return an equivalent pick with as few dimensions as possible: dimensions of size one are
        dropped, and adjacent ones are merged if all arrays allow it.
        """
        walks = [self.table, self.values, *(i.strides for i in self.indices)]
        shape: list[int] = []
        made: list[list[int]] = [[] for _ in walks]
        for d, n in enumerate(self.shape):
            if n == 1:
                continue
            if shape and all(new[-1] == old[d] * n for new, old in zip(made, walks, strict=True)):
                shape[-1] *= n
                for new, old in zip(made, walks, strict=True):
                    new[-1] = old[d]
            else:
                shape.append(n)
                for new, old in zip(made, walks, strict=True):
                    new.append(old[d])
        table, values, *strides = map(tuple, made)
        indices = tuple(replace(i, strides=s) for i, s in zip(self.indices, strides, strict=True))
        return Pick(self.kind, self.dtype, tuple(shape), table, values, indices)


def serves(pick: Pick) -> bool:
    """Return whether there is a kernel for the pick."""
    if pick.kind in ("take", "put"):
        good = pick.dtype in _SIZES
    else:
        good = pick.dtype in _NUMBERS or is_half(pick.dtype) and available(pick.dtype)
    return good and all(i.dtype in ("int64", "int32") for i in pick.indices)


def grain(pick: Pick) -> int:
    """Return the number of steps of the outermost dimension per chunk."""
    return max(1, GRAIN // max(1, math.prod(pick.shape[1:])))


def emit(module: Module, name: str, pick: Pick) -> None:
    """Emit `void name(team, table, values, index 0, ..., n, grain)` for a merged pick, where `n` is
    its outermost size.
    """
    moved_only = pick.kind in ("take", "put") or is_half(pick.dtype)
    ctype = _BY_SIZE[_SIZES[pick.dtype]] if moved_only else _NUMBERS[pick.dtype]
    params = {
        "table": "ptr",
        "values": "ptr",
        **{f"index{k}": "ptr" for k in range(len(pick.indices))},
    }
    f = threads.parallel_export(module, name, params, internal=True)
    f.scalar = True
    zero = f.const(0, "i64")
    last = len(pick.shape) - 1

    def moved(at: SSAValue, i: SSAValue, stride: int) -> SSAValue:
        return at if not stride else at + (i if stride == 1 else i * stride)

    def nest(
        d: int, table: SSAValue, values: SSAValue, places: list[SSAValue], open_: list[int]
    ) -> None:
        """Emit the loops from dimension `d` inward, given the offsets so far and the index arrays
        that have not been read yet.
        """
        rest = []
        for k in open_:
            index = pick.indices[k]
            if any(index.strides[d:]):
                rest.append(k)
            else:
                table = table + _position(f, index, getattr(f, f"index{k}"), places[k]) * index.step
        if d > last:
            _move(f, pick, ctype, table, values)
        elif d == last and d and not rest and _vectors(pick, ctype):
            _row(f, pick, ctype, f.at(f.table, table, ctype), f.at(f.values, values, ctype))
        else:
            with f.loop(zero if d else f.begin, pick.shape[d] if d else f.end) as i:
                steps = [
                    moved(p, i, index.strides[d])
                    for p, index in zip(places, pick.indices, strict=True)
                ]
                nest(
                    d + 1,
                    moved(table, i, pick.table[d]),
                    moved(values, i, pick.values[d]),
                    steps,
                    rest,
                )

    nest(0, zero, zero, [zero] * len(pick.indices), list(range(len(pick.indices))))
    f.ret()


def _position(f: Function, index: Index, pointer: SSAValue, at: SSAValue) -> SSAValue:
    where = f.load("i64" if index.dtype == "int64" else "i32", pointer, at)
    if index.dtype != "int64":
        where = f.extend(where, "i64")
    return (
        where + f.select(where.compare("slt", 0), index.size, f.const(0, "i64"))
        if index.wrap
        else where
    )


def _combined(f: Function, pick: Pick, old: SSAValue, new: SSAValue) -> SSAValue:
    """Return the combination of an old and a new element, rounded to the dtype each time."""
    kind = pick.kind
    if is_half(pick.dtype):
        wide = replace(pick, dtype="float32")
        made = _combined(f, wide, unpack(f, old, pick.dtype), unpack(f, new, pick.dtype))
        return pack(f, made, pick.dtype)
    if kind == "add":
        return old + new
    if kind == "mul":
        return old * new
    whole = new.ctype.startswith("i")
    better = new.compare(("s" if whole else "o") + ("gt" if kind == "max" else "lt"), old)
    if not whole:
        better = better | new.compare("uno", new)  # NaN replaces other values and is kept
    return f.select(better, new, old)


def _move(f: Function, pick: Pick, ctype: str, table: SSAValue, values: SSAValue) -> None:
    if pick.kind == "take":
        f.store(f.load(ctype, f.table, table), f.values, values)
        return
    made = f.load(ctype, f.values, values)
    if pick.kind != "put":
        made = _combined(f, pick, f.load(ctype, f.table, table), made)
    f.store(made, f.table, table)


def _vectors(pick: Pick, ctype: str) -> bool:
    """Return whether rows are contiguous in both arrays and long enough for vectors."""
    return (
        pick.table[-1] == 1
        and pick.values[-1] == 1
        and pick.shape[-1] >= 4
        and ctype not in ("i8", "i16")
    )


def _row(f: Function, pick: Pick, ctype: str, table: SSAValue, values: SSAValue) -> None:
    width = target.host().lanes("double" if ctype in ("double", "i64") else "float")
    kind = vector(ctype, width)

    def move(i: SSAValue, mask: SSAValue | None) -> None:
        if pick.kind == "take":
            f.store(f.load(kind, table, i, mask=mask), values, i, mask=mask)
            return
        made = f.load(kind, values, i, mask=mask)
        if pick.kind != "put":
            made = _combined(f, pick, f.load(kind, table, i, mask=mask), made)
        f.store(made, table, i, mask=mask)

    f.vector_loop(f.const(pick.shape[-1], "i64"), width, move)


def emit_check(module: Module, name: str, shape: tuple[int, ...], index: Index) -> None:
    """Emit `i64 name(index)`, which returns 1 if all positions of an index array are in range, else
    0.
    """
    walked = [(n, s) for n, s in zip(shape, index.strides, strict=True) if n > 1 and s]
    dims: list[tuple[int, int]] = []
    for n, s in walked:
        if dims and dims[-1][1] == n * s:
            dims[-1] = (dims[-1][0] * n, s)
        else:
            dims.append((n, s))
    f = module.function(name, "i64", internal=True, index="ptr")
    limit, shift = (2 * index.size, index.size) if index.wrap else (index.size, 0)
    ctype = "i64" if index.dtype == "int64" else "i32"
    whole = len(dims) == 1 and dims[0][1] == 1 and ctype == "i64"
    width = target.host().lanes("double") if whole else 1
    kind = vector("i64", width)
    # compared as unsigned numbers, so that negative positions exceed any size
    largest = f.var(kind, f.const(0, kind))

    def look(at: SSAValue, mask: SSAValue | None) -> None:
        x = f.load(kind if whole else ctype, f.index, at, mask=mask)
        x = f.extend(x, "i64") if ctype == "i32" else x
        x = x + shift if shift else x
        known = largest.get()
        largest.set(f.select(x.compare("ugt", known), x, known))

    def nest(d: int, at: SSAValue) -> None:
        if d == len(dims):
            look(at, None)
            return
        with f.loop(0, dims[d][0]) as i:
            nest(d + 1, at + i * dims[d][1])

    if whole:
        f.vector_loop(f.const(dims[0][0], "i64"), width, look)
    else:
        nest(0, f.const(0, "i64"))
    result = (
        f.fold(largest.get(), lambda a, b: f.select(a.compare("ugt", b), a, b))
        if width > 1
        else largest.get()
    )
    f.ret(f.emit(f"zext i1 {result.compare('ult', limit).name} to i64", "i64"))
