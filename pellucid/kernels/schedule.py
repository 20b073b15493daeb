"""Schedules: many kernels called one after the other by a single native function, on memory whose
addresses are in a table.

    >>> from .pointwise.loop import Access, Loop, PointwiseOp, Write, emit
    >>> x = Access("float32", (1,))
    >>> twice = emit(Loop((4,), (x,), (), (PointwiseOp("mul", (("in", 0), ("const", 2.0)), "float32"),), (Write(("step", 0), x),)), "k0")
    >>> s = Schedule(given=2)
    >>> s.kernel(twice, [Address("given", 0), Address("given", 1)])
    >>> out, run = np.zeros(4, np.float32), s.compile("doubling")
    >>> if run:
    ...     run(np.ones(4, np.float32), out)
    >>> out.tolist() if run else [2.0] * 4
    [2.0, 2.0, 2.0, 2.0]

Each call passes arrays. What stays in place (parameters, constants) is registered with `keep`, and
its address goes into the table. Temporaries and working memory are in an arena, at offsets that are
known once all calls have been added. The generated code contains no address, so its object code can
be cached on disk.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..llvm import jit, target, threads
from ..llvm.emit import Function, Module, SSAValue
from ..llvm.lengths import Filling, Lengths
from .matmul import blas, pairs
from .matmul import call as matmul
from .matmul.product import Product, blas_address, emit_small
from .pointwise.loop import Kernel, Loop, emit, module_text
from .rows import softmax
from .updates import optim

__all__ = ["Address", "Room", "Schedule", "aligned"]

GRAIN = 4096


@dataclass(frozen=True)
class Address:
    """An address: `offset` bytes into memory number `index` that is "given" at each call, "kept" in
    the table, or "shared" in the arena.
    """

    kind: str
    index: int
    offset: int = 0

    def at(self, by: int) -> Address:
        """Return the address `by` bytes further on."""
        return Address(self.kind, self.index, self.offset + by)


@dataclass(eq=False)
class Room:
    """Working memory: `size` bytes that are needed while the items `first` to `last` of a step run."""

    size: int
    first: int
    last: int


class CompiledSchedule(Protocol):
    """A schedule's function, with what is needed to call the native function directly."""

    numbers: np.ndarray  # the run-time numbers
    table: np.ndarray  # the addresses of the entries of `kept`
    kept: list[Any]
    native: Callable[..., int]
    where: int  # the address of `table`
    places: int  # the address of `numbers`
    used: list[int]  # indices of the given arrays that the native function takes

    def __call__(self, *arrays: np.ndarray) -> None: ...


class Schedule:
    """Collects calls, and compiles them to one function of `given` arrays."""

    def __init__(self, given: int) -> None:
        self.given = given
        # arrays, or addresses of functions; their addresses are in the table
        self.kept: list[Any] = []
        # index in `kept` by address, or by the id of an object
        self._places: dict[tuple[type, int], int] = {}
        self.kernels: list[Kernel] = []
        self.numbers = 0
        self.calls: list[Callable[[Function], None]] = []
        self.titles: list[str] = []
        self.item = 0  # index of the step's item that added calls belong to
        # contents of the arena: the caller's temporaries (anything with a size in bytes), and rooms
        self.shared: list[Any] = []
        self.offsets: dict[Any, int] | None = None  # offsets in the arena, once known
        self._arena = -1
        self._packed: Room | None = None
        self._work: Room | None = None
        self.plans: list[Any] = []  # owners of tables whose addresses are in `kept`
        self.streams: list[Any] = []  # random streams whose locks are held while it runs
        # functions that raise the error if the native function ends early
        self.refusals: list[Callable[[], None]] = []
        self._updates: dict[tuple[optim.UpdateRule, str], str] = {}
        self.loops: dict[Loop, Kernel] = {}
        # symbols of loops that other schedules run, too, and that are compiled in modules of their own
        self.common: dict[str, str] = {}
        self._used: set[int] = set()  # indices of the given arrays that are used
        self._functions: dict[Any, tuple[str, Callable[[Module, str], None]]] = {}
        # functions that are called by address: index in the table by symbol
        self._apart: dict[str, int] = {}

    # ---- memory ----------------------------------------------------------------------------------
    def keep(self, thing: Any) -> int:
        """Add an array, or the address of a function, to the table and return its index."""
        key = (int, thing) if isinstance(thing, int) else (object, id(thing))
        place = self._places.setdefault(key, len(self.kept))
        if place == len(self.kept):
            self.kept.append(thing)
        return place

    def share(self, thing: Any) -> Address:
        """Return the address of a temporary in the arena."""
        for k, known in enumerate(self.shared):
            if known is thing:
                return Address("shared", k)
        self.shared.append(thing)
        return Address("shared", len(self.shared) - 1)

    def room(self, size: int) -> Address:
        """Return the address of `size` bytes of memory that nothing else uses while the current
        item runs. The content is not kept between calls.
        """
        return self.share(Room(size, self.item, self.item))

    def work(self, size: int, offset: int = 0) -> Address:
        """Return an address in memory of at least `size` bytes that all calls of the current item
        share.
        """
        if self._work is None or self._work.first != self.item:
            self._work = Room(size, self.item, self.item)
        self._work.size = max(self._work.size, size)
        return self.share(self._work).at(offset)

    def _scratch(self) -> Address:
        """Return the address of memory for the packed operand of a product. All products share it,
        so that it stays in the cache.
        """
        if self._packed is None:
            self._packed = Room(4 * matmul.SCRATCH_FLOATS, self.item, self.item)
        self._packed.last = self.item
        return self.share(self._packed)

    @property
    def rooms(self) -> list[Room]:
        """The working memory of all calls."""
        return [thing for thing in self.shared if isinstance(thing, Room)]

    def lay(self, offsets: dict[Any, int], arena: np.ndarray) -> None:
        """Set the arena and the offsets of everything shared in it. After that the code can be
        generated.
        """
        self.offsets = offsets
        self._arena = self.keep(arena)

    def _lay_apart(self) -> None:
        """Allocate an arena in which nothing overlaps, if the caller has not planned one."""
        offsets, total = {}, 0
        for thing in self.shared:
            offsets[thing] = total
            total += -(-thing.size // 128) * 128
        self.lay(offsets, aligned(total))

    def number(self, count: int = 1) -> int:
        """Reserve `count` run-time numbers and return the index of the first."""
        self.numbers += count
        return self.numbers - count

    def _pointer(self, f: Function, place: Address | None) -> SSAValue:
        if place is None:
            return SSAValue(f, "null", "ptr")
        offset = place.offset
        if place.kind == "given":
            base = getattr(f, f"a{place.index}")
            self._used.add(place.index)
        elif place.kind == "kept":
            base = self._base(f, place.index)
        else:
            assert self.offsets is not None
            base = self._base(f, self._arena)
            offset += self.offsets[self.shared[place.index]]
        return f.at(base, offset, "i8") if offset else base

    def _base(self, f: Function, index: int) -> SSAValue:
        made = self._bases.get(index)
        if made is None:
            made = self._bases[index] = f.load("ptr", f.table, index)
        return made

    def _callee(self, f: Function, symbol: str) -> str:
        """Return the operand by which a call refers to a function of the schedule."""
        if symbol in self._apart:
            return self._base(f, self._apart[symbol]).name
        return f"@{self.common.get(symbol, symbol)}"

    # ---- calls -----------------------------------------------------------------------------------
    def loop(
        self, loop: Loop, places: Sequence[Address], numbers: int | None = None, title: str = ""
    ) -> None:
        """Add a loop. Equal loops are generated once."""
        made = self.loops.get(loop)
        if made is None:
            made = self.loops[loop] = emit(loop, f"loop{len(self.loops)}")
        self.kernel(made, places, numbers, title)

    def kernel(
        self, kernel: Kernel, places: Sequence[Address], numbers: int | None = None, title: str = ""
    ) -> None:
        """Add a call of a loop's kernel. Its run-time numbers, which are doubles, begin at index
        `numbers`.
        """
        if not any(k is kernel for k in self.kernels):
            self.kernels.append(kernel)
        scratch = self.room(kernel.scratch_bytes) if kernel.scratch_bytes else None

        def call(f: Function) -> None:
            arguments = [self._pointer(f, p) for p in places]
            scalars = [
                kind for kind in kernel.signature[len(places) :] if kind in ("double", "i64")
            ]
            for k, kind in enumerate(scalars):
                value = f.load("double", f.numbers, (numbers or 0) + k)
                arguments.append(value if kind == "double" else f.to_int(value, "i64"))
            arguments.append(f.team)
            if scratch is not None:
                arguments.append(self._pointer(f, scratch))
            text = ", ".join(f"{a.ctype} {a.name}" for a in arguments)
            f.line(f"call void {self._callee(f, kernel.symbol)}({text})")

        self._add(call, title or kernel.symbol)

    def product(
        self,
        p: Product,
        a: Address,
        b: Address,
        out: Address,
        bias: Address | None = None,
        title: str = "",
    ) -> None:
        """Add a batch of matrix products; `bias` (n values) is added to each row."""
        kind = p.served()
        if kind is None:
            raise ValueError(f"nobody computes {p}")
        if kind in ("gemm", "pairs"):
            native = (matmul if kind == "gemm" else pairs).gemm_address()
            assert native is not None  # checked in `served`
            function, packed = self.keep(native), self._scratch()
        elif kind == "blas":
            function, quiet = self.keep(blas_address(p.ctype)), blas.alone(p.m * p.n * p.k)
            controls = [self.keep(address) for address in quiet or ()]
        else:
            alone, biased = replace(p, batch=()), bias is not None
            symbol = self.function(
                "small",
                (alone, biased),
                lambda module, name: emit_small(module, name, alone, biased),
            )

        def one(f: Function, a: SSAValue, b: SSAValue, out: SSAValue) -> None:
            bias_at = self._pointer(f, bias)
            if kind in ("gemm", "pairs"):
                flags = (matmul.BIAS if bias else 0) | (matmul.RELU if p.relu else 0)
                sizes = (p.m, p.n, p.k, *p.a, *p.b, p.pitch, flags)
                pointers = (f.team, a, b, out, bias_at, self._pointer(f, packed))
                text = [f"ptr {v.name}" for v in pointers] + [f"i64 {v}" for v in sizes]
                f.line(f"call void {self._base(f, function).name}({', '.join(text)})")
            elif kind == "blas":
                turned_a, turned_b = p.a[1] != 1, p.b[1] != 1
                lda, ldb = max(p.a), max(p.b)
                lda = max(lda, p.m if turned_a else p.k)
                ldb = max(ldb, p.k if turned_b else p.n)
                real, beta = p.ctype, "0x3FF0000000000000" if bias else "0.0"
                if bias:
                    size = p.n * (4 if real == "float" else 8)
                    with f.loop(0, p.m) as i:
                        row = f.at(out, i * p.pitch, real)
                        f.line(
                            f"call void @llvm.memcpy.p0.p0.i64(ptr {row.name}, ptr {bias_at.name}, i64 {size}, i1 false)"
                        )
                    f.module.declarations.add(
                        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
                    )
                if quiet:
                    before = f.emit(f"call i32 {self._base(f, controls[0]).name}()", "i32")
                    f.line(f"call void {self._base(f, controls[1]).name}(i32 1)")
                f.line(
                    f"call void {self._base(f, function).name}(i32 101, i32 {112 if turned_a else 111}, i32 {112 if turned_b else 111}, "
                    f"i64 {p.m}, i64 {p.n}, i64 {p.k}, {real} 1.0, ptr {a.name}, i64 {lda}, ptr {b.name}, i64 {ldb}, {real} {beta}, "
                    f"ptr {out.name}, i64 {p.pitch})"
                )
                if quiet:
                    f.line(f"call void {self._base(f, controls[1]).name}(i32 {before.name})")
            else:
                f.line(
                    f"call void {self._callee(f, symbol)}(ptr {a.name}, ptr {b.name}, ptr {out.name}, ptr {bias_at.name})"
                )

        def nest(f: Function, batch: Any, a: SSAValue, b: SSAValue, out: SSAValue) -> None:
            if not batch:
                one(f, a, b, out)
                return
            count, sa, sb, so = batch[0]
            with f.loop(0, count) as i:
                nest(
                    f,
                    batch[1:],
                    *(f.at(x, i * step, p.ctype) for x, step in ((a, sa), (b, sb), (out, so))),
                )

        def call(f: Function) -> None:
            if p.batch:
                # Load from the table before the loop.
                if kind != "small":
                    self._base(f, function)
                if kind == "blas":
                    for address in controls:
                        self._base(f, address)
                if kind in ("gemm", "pairs"):
                    self._pointer(f, packed)
                if bias is not None:
                    self._pointer(f, bias)
            nest(f, p.batch, self._pointer(f, a), self._pointer(f, b), self._pointer(f, out))

        times = "" if not p.batch else " x " + str(math.prod(c for c, *_ in p.batch))
        self._add(call, title or f"product {p.m}x{p.k}x{p.n}{times} ({kind})")

    def function(self, name: str, key: Any, emit: Callable[[Module, str], None]) -> str:
        """Return the symbol of a function of the schedule, which `emit(module, symbol)` emits once
        for each name and key.
        """
        return self._functions.setdefault((name, key), (f"{name}{len(self._functions)}", emit))[0]

    def _known(self, function: int | str) -> int | str:
        """Return how to refer to a function: by symbol if it belongs to the schedule, else by the
        index of its address in the table.
        """
        return function if isinstance(function, str) else self.keep(function)

    def native(self, function: int | str, arguments: Sequence[Any], title: str = "") -> None:
        """Add a call of a native function. Arguments are addresses, None (null), "team", ints (i64)
        or floats (double).
        """
        function = self._known(function)
        self._add(lambda f: f.line(f"call void {self._call(f, function, arguments)}"), title)

    @contextmanager
    def unless(
        self, function: int | str, arguments: Sequence[Any], title: str = ""
    ) -> Iterator[None]:
        """Add a call of a native function that returns an i64. What is scheduled in the block runs
        only if that is not 0.
        """
        function, outer = self._known(function), (self.calls, self.titles)
        self.calls, self.titles = [], []
        try:
            yield
        finally:
            otherwise = self.calls
            self.calls, self.titles = outer

        def call(f: Function) -> None:
            status = f.emit(f"call i64 {self._call(f, function, arguments)}", "i64")
            with f.when(status.compare("ne", 0)):
                for other in otherwise:
                    other(f)

        self._add(call, title)

    def _call(self, f: Function, function: int | str, arguments: Sequence[Any]) -> str:
        """Return the text of a call: the function with its arguments."""
        text = []
        for x in arguments:
            if isinstance(x, Address) or x is None:
                text.append(f"ptr {self._pointer(f, x).name}")
            elif x == "team":
                text.append(f"ptr {f.team.name}")
            elif isinstance(x, float):
                text.append(f"double {f.const(x, 'double').name}")
            else:
                text.append(f"i64 {int(x)}")
        name = (
            self._callee(f, function) if isinstance(function, str) else self._base(f, function).name
        )
        return f"{name}({', '.join(text)})"

    def zero(self, place: Address, size: int) -> None:
        """Add code that clears `size` bytes."""

        def call(f: Function) -> None:
            f.module.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            f.line(
                f"call void @llvm.memset.p0.i64(ptr {self._pointer(f, place).name}, i8 0, i64 {size}, i1 false)"
            )

        self._add(call, f"clear {size} bytes")

    def require(
        self,
        function: int | str,
        arguments: Sequence[Any],
        refuse: Callable[[], None],
        title: str = "",
    ) -> None:
        """Add a call of a native function that returns an i64. If it returns 0, the schedule ends,
        and `refuse` raises the error.
        """
        function = self._known(function)
        self.refusals.append(refuse)
        code = len(self.refusals)

        def call(f: Function) -> None:
            good = f.emit(f"call i64 {self._call(f, function, arguments)}", "i64")
            self._leave(f, good.compare("eq", 0), code)

        self._add(call, title)

    def _leave(self, f: Function, condition: SSAValue, code: int) -> None:
        with f.when(condition):
            f.line(f"ret i64 {code}")
            f._start(f._fresh("dead"))

    def update(
        self,
        rule: optim.UpdateRule,
        arrays: Sequence[Sequence[Address]],
        sizes: Sequence[int],
        numbers: int,
        kind: str = "float32",
        title: str = "",
    ) -> None:
        """Add an optimizer's update of several parameters of one dtype. Its numbers begin at index
        `numbers`.
        """
        symbol = self._updates.setdefault((rule, kind), f"update.{rule.symbol}.{kind}")

        def call(f: Function) -> None:
            start = f.at(f.numbers, numbers, "double")
            for places, size in zip(arrays, sizes, strict=True):
                text = [f"ptr {self._pointer(f, p).name}" for p in places]
                f.line(
                    f"call void {self._callee(f, symbol)}(ptr {f.team.name}, {', '.join(text)}, ptr {start.name}, i64 {size}, i64 {optim.GRAIN})"
                )

        self._add(call, title or f"{rule.title} of {len(sizes)} parameters")

    def put(self, places: Sequence[Address], number: int, kind: str = "float") -> None:
        """Add stores of a run-time number to scalars, "float" or "double"."""

        def call(f: Function) -> None:
            value = f.load("double", f.numbers, number)
            value = f.trunc(value, "float") if kind == "float" else value
            for place in places:
                f.store(value, self._pointer(f, place))

        self._add(call, f"count in {len(places)} scalars")

    def cross_entropy(
        self,
        x: Address,
        target: Address,
        rows_of: Address,
        loss: Address,
        bad: Any,
        rows: int,
        columns: int,
        ignore: int,
        mean: bool,
        refuse: Callable[[], None],
        real: str = "float",
    ) -> None:
        """Add the mean or sum of cross-entropies of contiguous logits, "float" or "double".

        `rows_of` is memory for the loss and the weight of each row, and two numbers per row that
        the gradient needs. A class out of range ends the schedule, and `refuse` raises the error.
        """
        forward, total = (
            self.keep(softmax.native("cross_entropy", real)),
            self.keep(softmax.native("total", real)),
        )
        wrong = self.keep(bad)
        self.refusals.append(refuse)
        code = len(self.refusals)

        def call(f: Function) -> None:
            where = self._pointer(f, rows_of)
            used, sums = f.at(where, rows, real), f.at(where, 2 * rows, real)
            at_bad = self._base(f, wrong)
            f.store(f.const(0, "i64"), at_bad)
            pointers = (
                f.team,
                self._pointer(f, x),
                self._pointer(f, target),
                SSAValue(f, "null", "ptr"),
                where,
                used,
                sums,
                at_bad,
            )
            text = [f"ptr {v.name}" for v in pointers] + [
                f"i64 {ignore}",
                "double 0.0",
                f"i64 {columns}",
                f"i64 {rows}",
            ]
            text.append(f"i64 {softmax.grain(columns)}")
            f.line(f"call void {self._base(f, forward).name}({', '.join(text)})")
            self._leave(f, f.load("i64", at_bad).compare("ne", 0), code)
            adder = self._base(f, total).name
            sum_of = f.emit(f"call double {adder}(ptr {where.name}, i64 {rows})", "double")
            if mean:
                sum_of = sum_of / f.emit(
                    f"call double {adder}(ptr {used.name}, i64 {rows})", "double"
                )  # 0 / 0 is NaN, as intended
            f.store(f.trunc(sum_of, real), self._pointer(f, loss))

        self._add(call, f"cross entropy of {rows}x{columns}")

    def cross_entropy_backward(
        self,
        x: Address,
        target: Address,
        sums: Address,
        g: Address,
        out: Address,
        used: Address | None,
        scaled: Any,
        rows: int,
        columns: int,
        ignore: int,
        real: str = "float",
    ) -> None:
        """Add the gradient of the logits. `used` are the weights of the rows, or None for a sum;
        `scaled` is memory for one number.
        """
        backward, total, factor = (
            self.keep(softmax.native("cross_entropy_backward", real)),
            self.keep(softmax.native("total", real)),
            self.keep(scaled),
        )

        def call(f: Function) -> None:
            value = f.load(real, self._pointer(f, g))
            if used is not None:
                number = f.emit(
                    f"call double {self._base(f, total).name}(ptr {self._pointer(f, used).name}, i64 {rows})",
                    "double",
                )
                value = value / f.trunc(number, real)
            at = self._base(f, factor)
            f.store(value, at)
            pointers = (
                f.team,
                self._pointer(f, x),
                self._pointer(f, target),
                SSAValue(f, "null", "ptr"),
                self._pointer(f, sums),
                at,
            )
            text = [f"ptr {v.name}" for v in (*pointers, self._pointer(f, out))]
            text += [
                f"i64 {ignore}",
                "double 0.0",
                "i64 0",
                f"i64 {columns}",
                f"i64 {rows}",
                f"i64 {softmax.grain(columns)}",
            ]
            f.line(f"call void {self._base(f, backward).name}({', '.join(text)})")

        self._add(call, f"cross entropy backward of {rows}x{columns}")

    def _add(self, call: Callable[[Function], None], title: str) -> None:
        self.calls.append(call)
        self.titles.append(title)

    # ---- code ------------------------------------------------------------------------------------
    def text(self) -> str:
        """Return the module as LLVM IR."""
        if self.offsets is None:
            self._lay_apart()
        module = Module()
        kernels = [k for k in self.kernels if k.symbol not in self.common]
        for kernel in kernels:
            module.declarations |= kernel.declarations
        for kernel in self.kernels:
            if kernel.symbol in self.common:
                module.declarations.add(
                    f"declare void @{self.common[kernel.symbol]}({', '.join(kernel.signature)})"
                )
        self._apart = {}
        for symbol, emit_function in self._further():
            emit_function(module, symbol)
        self._run(module)
        return "\n".join(k.text for k in kernels) + "\n" + module.text()

    def _further(self) -> Iterator[tuple[str, Callable[[Module, str], None]]]:
        """Yield the functions other than loops, as (symbol, function that emits it)."""
        for (rule, kind), symbol in self._updates.items():
            yield symbol, functools.partial(_emit_update, rule, kind)
        yield from self._functions.values()

    def _run(self, module: Module) -> None:
        """Emit the function that makes the calls."""
        given = {f"a{k}": "ptr" for k in range(self.given)}
        f = module.function("run", "i64", team="ptr", table="ptr", numbers="ptr", **given)
        f.driver = True
        self._bases: dict[int, SSAValue] = {}
        for k in range(len(self.kept)):
            self._base(f, k)
        for call in self.calls:
            call(f)
        f.ret(f.const(0, "i64"))
        # drop unused arguments: schedules between Python calls use few of many arrays
        for k in set(range(self.given)) - self._used:
            del f.params[f"a{k}"]

    def units(self) -> Iterator[tuple[str, str]]:
        """Yield the same code as modules of one function each, as (symbol, LLVM IR). Each function
        is called "unit" and is called by address; the last one is "run".
        """
        if self.offsets is None:
            self._lay_apart()
        texts = {k.symbol: _unit(k) for k in self.kernels}
        for symbol, emit_function in self._further():
            module = Module()
            emit_function(module, symbol)
            texts[symbol] = _as_unit(module.text(), symbol)
        for symbol, text in texts.items():
            if symbol not in self._apart:
                self._apart[symbol] = len(self.kept)
                self.kept.append(0)  # set when it is compiled
            yield symbol, text
        module = Module()
        self._run(module)
        yield "run", module.text()

    def compile(self, name: str, lengths: Lengths | None = None) -> CompiledSchedule | None:
        """Return the function of the given arrays; None if there is no compiler. Its attribute
        `numbers` is the array of run-time numbers. `lengths` has the code of schedules for other
        sizes.
        """
        if not target.available() or not jit.fastcall_works():
            return None
        native = self._compiled(name) if lengths is None else self._adapted(name, lengths)
        if native is None:
            return None
        table = np.array([_address(t) for t in self.kept] or [0], np.int64)
        numbers = np.zeros(max(self.numbers, 1), np.float64)
        where, places, team = table.ctypes.data, numbers.ctypes.data, threads.team

        refusals = self.refusals

        used = sorted(self._used)

        def run(*arrays: np.ndarray) -> None:
            status = native(team(), where, places, *[arrays[k] for k in used])
            if status:
                refusals[status - 1]()

        made: Any = run
        made.numbers, made.table, made.kept = numbers, table, self.kept
        made.native, made.where, made.places, made.used = native, where, places, used
        compiled: CompiledSchedule = made
        return compiled

    def _compiled(self, name: str) -> Any:
        """Compile the function that makes the calls in one module with everything that it calls."""
        natives = jit.compile_ir(self.text(), self._exports("run"), name)
        return None if natives is None else natives["run"]

    def _exports(self, symbol: str) -> dict[str, str | None]:
        """Return the exports of a module for `jit.compile_ir`."""
        return {"run": "ppp" + "a" * len(self._used) + ">i"} if symbol == "run" else {"unit": None}

    def _adapted(self, name: str, lengths: Lengths) -> Any:
        """Compile the function from code that is shared with schedules for other sizes."""
        if lengths.whole:
            lengths.earlier.append(weakref.ref(self))
            return self._compiled(name)
        for ref in lengths.earlier:
            earlier = ref()
            for symbol, text in earlier.units() if earlier is not None else ():
                lengths.note(text, earlier._exports(symbol))
        lengths.earlier.clear()
        filling = Filling(lengths.area)
        for symbol, text in self.units():
            natives = lengths.compile(text, self._exports(symbol), name, filling)
            if natives is None:
                return None
            if symbol == "run":
                return filling.around(natives["run"])
            self.kept[self._apart[symbol]] = natives["unit"]
        raise AssertionError("a schedule ends with its run")


def share(schedules: Sequence[Schedule]) -> None:
    """Compile the loops that several of the schedules run once, in modules of their own."""
    times = Counter(loop for schedule in schedules for loop in schedule.loops)
    for schedule in schedules:
        for loop, kernel in schedule.loops.items():
            name = _by_itself(loop) if times[loop] > 1 else None
            if name is not None:
                schedule.common[kernel.symbol] = name


@functools.cache
def _by_itself(loop: Loop) -> str | None:
    """Compile a loop in a module of its own and return its symbol; None if that fails."""
    kernel = emit(loop, "loop_" + hashlib.sha256(repr(loop).encode()).hexdigest()[:32])
    natives = jit.compile_ir(module_text([kernel]), {kernel.symbol: None}, "a loop")
    if natives is None:
        return None
    jit.define(kernel.symbol, natives[kernel.symbol])
    return kernel.symbol


@functools.lru_cache(512)
def _unit(kernel: Kernel) -> str:
    """Return a module with a single kernel."""
    return _as_unit(module_text([kernel]), kernel.symbol)


def _as_unit(text: str, symbol: str) -> str:
    """Return a module in which the function `symbol` is renamed to "unit" and exported."""
    text = re.sub(rf"@{re.escape(symbol)}(?![\w])", "@unit", text)
    return re.sub(r"define internal (\S+) @unit\(", r"define \1 @unit(", text)


def _emit_update(rule: optim.UpdateRule, kind: str, module: Module, symbol: str) -> None:
    optim.emit_flat_update(module, symbol, rule, kind)


def _address(thing: Any) -> int:
    return thing if isinstance(thing, int) else thing.ctypes.data


def aligned(size: int) -> np.ndarray:
    """Return memory of `size` bytes whose address is a multiple of 128."""
    memory = np.empty(size + 128, np.uint8)
    start = -memory.ctypes.data % 128
    return memory[start : start + size]
