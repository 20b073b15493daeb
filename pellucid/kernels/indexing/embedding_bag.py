"""Bags of rows for `embedding_bag`: the bag of each index, and the positions of each bag's largest
elements.

>>> made = bags(np.array([0, 2, 2]), np.array([7, 8, 9]), None, np.dtype(np.float32))
>>> made is None or [a.ravel().tolist() for a in made] == [[0, 0, 2], [2.0, 1.0, 1.0]]
True
"""

from __future__ import annotations

import numpy as np

from ...dtypes import name_of
from ...llvm import jit, target, threads
from ...llvm.emit import Module, SSAValue, types_of, vector
from . import embedding

__all__ = ["bags", "native", "share", "winners"]

_I64 = np.dtype(np.int64)
_CTYPES = types_of("float32 float64")


def _offsets(module: Module) -> None:
    """Emit `offsets(starts, n, size)`, which returns 1 if the first start is 0, the starts do not
    decrease, and none exceeds the number of indices.
    """
    f = module.function("offsets", "i64", starts="ptr", n="i64", size="i64")
    good, before = f.var("i1", f.load("i64", f.starts).compare("eq", 0)), f.var("i64", 0)
    with f.loop(0, f.n) as i:
        start = f.load("i64", f.starts, i)
        good.set(good.get() & start.compare("sge", before.get()) & start.compare("sle", f.size))
        before.set(start)
    f.ret(f.emit(f"zext i1 {good.get().name} to i64", "i64"))


def _bags(module: Module, ctype: str) -> None:
    """Emit `bags_<type>(starts, index, bag, counts, n, size, padding)`, which computes the bag of
    each of `size` indices (n for indices equal to `padding`), and the number of indices in each
    bag, at least 1. A padding of -1 means none.
    """
    params = {
        "starts": "ptr",
        "index": "ptr",
        "bag": "ptr",
        "counts": "ptr",
        "n": "i64",
        "size": "i64",
        "padding": "i64",
    }
    f = module.function(f"bags_{ctype}", **params)
    with f.loop(0, f.size) as i:
        f.store(f.const(0, "i64"), f.bag, i)
    with f.loop(0, f.n) as b:
        f.store(f.const(0, ctype), f.counts, b)
    with f.loop(1, f.n) as b:
        start = f.load("i64", f.starts, b)
        with f.when(start.compare("ult", f.size)):
            f.store(f.load("i64", f.bag, start) + 1, f.bag, start)
    own = f.var("i64", 0)
    with f.loop(0, f.size) as i:
        own.set(own.get() + f.load("i64", f.bag, i))
        f.store(own.get(), f.bag, i)
        padded = f.var("i1", 0)
        with f.when(f.padding.compare("sge", 0)):
            padded.set(f.load("i64", f.index, i).compare("eq", f.padding))

        def left_out(i: SSAValue = i) -> None:
            f.store(f.n, f.bag, i)

        def counted() -> None:
            f.store(f.load(ctype, f.counts, own.get()) + 1.0, f.counts, own.get())

        f.branch(padded.get(), left_out, counted)
    with f.loop(0, f.n) as b:
        f.store(f.larger(f.load(ctype, f.counts, b), 1.0), f.counts, b)
    f.ret()


def _winners(module: Module, ctype: str) -> None:
    """Emit `winners_<type>(team, rows, bag, best, winner, filled, size, bags, width, n, grain)`,
    which finds for each of n columns the first row with the largest element of each bag, 0 for an
    empty bag. `best` is working memory for those elements. Threads share the columns.
    """
    params = {
        "rows": "ptr",
        "bag": "ptr",
        "best": "ptr",
        "winner": "ptr",
        "filled": "ptr",
        "size": "i64",
        "bags": "i64",
        "width": "i64",
    }
    f = threads.parallel_export(module, f"winners_{ctype}", params)
    lanes = target.host().lanes("double")
    kind, ints, count = vector(ctype, lanes), vector("i64", lanes), f.end - f.begin
    with f.loop(0, f.bags) as b:
        best, winner = (
            f.at(p, b * f.width + f.begin, t) for p, t in ((f.best, ctype), (f.winner, "i64"))
        )

        def clear(
            i: SSAValue, mask: SSAValue | None, best: SSAValue = best, winner: SSAValue = winner
        ) -> None:
            f.store(f.const(-float("inf"), kind), best, i, mask=mask)
            f.store(f.const(-1, ints), winner, i, mask=mask)

        f.vector_loop(count, lanes, clear)
    with f.loop(0, f.size) as r:
        b = f.load("i64", f.bag, r)
        with f.when(b.compare("slt", f.bags)):
            row = f.at(f.rows, r * f.width + f.begin, ctype)
            best, winner = (
                f.at(p, b * f.width + f.begin, t) for p, t in ((f.best, ctype), (f.winner, "i64"))
            )

            def look(
                i: SSAValue,
                mask: SSAValue | None,
                row: SSAValue = row,
                best: SSAValue = best,
                winner: SSAValue = winner,
                r: SSAValue = r,
            ) -> None:
                x, known, place = (
                    f.load(t, p, i, mask=mask)
                    for t, p in ((kind, row), (kind, best), (ints, winner))
                )
                better = (
                    x.compare("ogt", known)
                    | (x.compare("uno", x) & known.compare("ord", known))
                    | place.compare("slt", 0)
                )
                f.store(f.select(better, x, known), best, i, mask=mask)
                f.store(f.select(better, f.splat(r, ints), place), winner, i, mask=mask)

            f.vector_loop(count, lanes, look)
    with f.loop(0, f.bags) as b:
        winner = f.at(f.winner, b * f.width + f.begin, "i64")
        some = f.load("i64", winner).compare("sge", 0)
        f.store(f.emit(f"zext i1 {some.name} to i8", "i8"), f.filled, b)

        def settle(i: SSAValue, mask: SSAValue | None, winner: SSAValue = winner) -> None:
            place = f.load(ints, winner, i, mask=mask)
            f.store(f.larger(place, 0), winner, i, mask=mask)

        f.vector_loop(count, lanes, settle)
    f.ret()


def _build(name: str) -> str:
    module = Module()
    _offsets(module)
    for ctype in _CTYPES.values():
        _bags(module, ctype)
        _winners(module, ctype)
    return module.text(name)


_EXPORTS = {"offsets": "aii>i"}
_EXPORTS |= {
    f"{name}_{c}": kinds
    for name, kinds in (("bags", "aaaaiii"), ("winners", "paaaaaiiiii"))
    for c in _CTYPES.values()
}
_lib = jit.NativeLibrary("bags", _build, _EXPORTS)


def native(name: str, dtype: str = "float32") -> int | None:
    """Return the address of a kernel; None if it does not support the dtype or cannot be compiled."""
    if dtype not in _CTYPES:
        return None
    function = getattr(_lib, name if name == "offsets" else f"{name}_{_CTYPES[dtype]}")
    return None if function is None else jit.address(function)


def bags(
    starts: np.ndarray, index: np.ndarray, padding: int | None, kind: np.dtype
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the bag of each index (the number of bags for indices equal to `padding`), and the
    number of indices in each bag, at least 1, as a column. Returns None if there is no bag or the
    dtype is not supported.

    `starts` begin with 0, do not decrease, and do not exceed the size of `index`; `_check_offsets`
    has checked that.
    """
    if not starts.size or name_of(kind) not in _CTYPES or native("bags", name_of(kind)) is None:
        return None
    starts, index = (np.ascontiguousarray(a, _I64) for a in (starts, index))
    bag, counts = np.empty(index.size, _I64), np.empty((starts.size, 1), kind)
    getattr(_lib, f"bags_{_CTYPES[name_of(kind)]}")(
        starts, index, bag, counts, starts.size, index.size, -1 if padding is None else padding
    )
    return bag, counts


def share(rows: int, columns: int) -> int:
    """Return the number of columns per chunk."""
    return embedding.share(rows * columns, columns)


def winners(rows: np.ndarray, bag: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the first row with the largest element of each column in each of `count` bags, and
    which bags are not empty, as a column; None if not supported.

    `bag` has a number from 0 to `count` for each row; rows with `count` are in no bag.
    """
    ctype = _CTYPES.get(name_of(rows.dtype))
    if ctype is None or native("winners", name_of(rows.dtype)) is None or not rows.shape[1]:
        return None
    rows, columns = np.ascontiguousarray(rows), rows.shape[1]
    best, winner, filled = (
        np.empty((count, columns), rows.dtype),
        np.empty((count, columns), _I64),
        np.empty((count, 1), bool),
    )
    numbers = (len(rows), count, columns, columns, share(len(rows), columns))
    getattr(_lib, f"winners_{ctype}")(threads.team(), rows, bag, best, winner, filled, *numbers)
    return winner, filled
