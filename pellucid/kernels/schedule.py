"""A schedule: many kernels called one after the other by one native function, on memory whose
addresses a table holds.

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

What it is given at each call are arrays; what stays where it is (parameters, constants) is
registered with `keep` and goes into the table. Temporaries and working memory lie in an arena, at
offsets that are known when all calls are there. The text of the code holds no address, so object
code can be kept on disk.
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
    """An address: `offset` bytes into memory that is "given" at each call, "kept" in the table, or
    "shared" in the arena, under a number.
    """

    kind: str
    index: int
    offset: int = 0

    def at(self, by: int) -> Address:
        """The address `by` bytes further on."""
        return Address(self.kind, self.index, self.offset + by)


@dataclass(eq=False)
class Room:
    """Working memory: `size` bytes that are needed while the items `first` to `last` of a step run."""

    size: int
    first: int
    last: int


class CompiledSchedule(Protocol):
    """A schedule's function, and what a caller needs who calls the native one himself."""

    numbers: np.ndarray  # the run-time numbers
    table: np.ndarray  # the addresses of `kept`
    kept: list[Any]
    native: Callable[..., int]
    where: int  # the address of `table`
    places: int  # that of `numbers`
    used: list[int]  # which of the given arrays the native function takes

    def __call__(self, *arrays: np.ndarray) -> None: ...


class Schedule:
    """Collects calls, and compiles them to one function of the `given` arrays."""

    def __init__(self, given: int) -> None:
        self.given = given
        self.kept: list[Any] = []  # arrays, or addresses of functions
        # where in `kept` an address, or the object of an identity, is
        self._places: dict[tuple[type, int], int] = {}
        self.kernels: list[Kernel] = []
        self.numbers = 0
        self.calls: list[Callable[[Function], None]] = []
        self.titles: list[str] = []
        self.item = 0  # which item of the step the calls that are added belong to
        # what lies in the arena: the caller's temporaries (anything with a size in bytes), and
        # rooms
        self.shared: list[Any] = []
        self.offsets: dict[Any, int] | None = None  # of those
        self._arena = -1
        self._packed: Room | None = None
        self._work: Room | None = None
        self.plans: list[Any] = []  # what owns tables whose addresses are in `kept`
        self.streams: list[Any] = []  # whose locks are held while it runs
        self.refusals: list[Callable[[], None]] = []  # what raises when the function ends early
        self._updates: dict[tuple[optim.UpdateRule, str], str] = {}
        self.loops: dict[Loop, Kernel] = {}
        self.common: dict[
            str, str
            # loops that other schedules run, too, and that are compiled by themselves: their names
            # there
        ] = {}
        self._used: set[int] = set()  # which of the given arrays
        self._functions: dict[Any, tuple[str, Callable[[Module, str], None]]] = {}
        # functions that are called by their address: by symbol, where that is in the table
        self._apart: dict[str, int] = {}

    # ---- memory ----------------------------------------------------------------------------------
    def keep(self, thing: Any) -> int:
        """Put an array, or the address of a function, into the table; returns its number."""
        key = (int, thing) if isinstance(thing, int) else (object, id(thing))
        place = self._places.setdefault(key, len(self.kept))
        if place == len(self.kept):
            self.kept.append(thing)
        return place

    def share(self, thing: Any) -> Address:
        """Where a temporary lies in the arena."""
        for k, known in enumerate(self.shared):
            if known is thing:
                return Address("shared", k)
        self.shared.append(thing)
        return Address("shared", len(self.shared) - 1)

    def room(self, size: int) -> Address:
        """A place in memory of `size` bytes that nobody else uses while the present item runs; it
        holds nothing from one call to the next.
        """
        return self.share(Room(size, self.item, self.item))

    def work(self, size: int, offset: int = 0) -> Address:
        """A place in memory of at least `size` bytes that all calls of the present item share."""
        if self._work is None or self._work.first != self.item:
            self._work = Room(size, self.item, self.item)
        self._work.size = max(self._work.size, size)
        return self.share(self._work).at(offset)

    def _scratch(self) -> Address:
        """Room for the packed operand of a product: one for all, which stays in the cache from one
        to the next.
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
        """Say where in which arena everything shared lies: from there on the code can be written."""
        self.offsets = offsets
        self._arena = self.keep(arena)

    def _lay_apart(self) -> None:
        """One after the other: for who does not plan."""
        offsets, total = {}, 0
        for thing in self.shared:
            offsets[thing] = total
            total += -(-thing.size // 128) * 128
        self.lay(offsets, aligned(total))

    def number(self, count: int = 1) -> int:
        """Room for run-time numbers; returns the first one's place."""
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
        """A function of the schedule's, as a call names it."""
        if symbol in self._apart:
            return self._base(f, self._apart[symbol]).name
        return f"@{self.common.get(symbol, symbol)}"

    # ---- calls -----------------------------------------------------------------------------------
    def loop(
        self, loop: Loop, places: Sequence[Address], numbers: int | None = None, title: str = ""
    ) -> None:
        """Run a loop; equal ones are generated once."""
        made = self.loops.get(loop)
        if made is None:
            made = self.loops[loop] = emit(loop, f"loop{len(self.loops)}")
        self.kernel(made, places, numbers, title)

    def kernel(
        self, kernel: Kernel, places: Sequence[Address], numbers: int | None = None, title: str = ""
    ) -> None:
        """Call a loop's kernel; its run-time numbers, doubles, are those from `numbers` on."""
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
        """A batch of matrix products; `bias` (n values) is added to each row."""
        kind = p.served()
        if kind is None:
            raise ValueError(f"nobody computes {p}")
        if kind in ("gemm", "pairs"):
            native = (matmul if kind == "gemm" else pairs).gemm_address()
            assert native is not None  # asked in `served`
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
                # Loads of the table belong before the loop.
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
        """The symbol of a function that belongs to the schedule: `emit(module, symbol)` writes it,
        once for each name and key.
        """
        return self._functions.setdefault((name, key), (f"{name}{len(self._functions)}", emit))[0]

    def _known(self, function: int | str) -> int | str:
        """A function to be called: one of the schedule's by its symbol, another one by its address,
        which goes into the table.
        """
        return function if isinstance(function, str) else self.keep(function)

    def native(self, function: int | str, arguments: Sequence[Any], title: str = "") -> None:
        """Call a native function: arguments are places, None (null), "team", ints (i64) or floats
        (double).
        """
        function = self._known(function)
        self._add(lambda f: f.line(f"call void {self._call(f, function, arguments)}"), title)

    @contextmanager
    def unless(
        self, function: int | str, arguments: Sequence[Any], title: str = ""
    ) -> Iterator[None]:
        """Call a native function that gives an i64; what is scheduled in the block runs only where
        that is not 0.
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
        """A function with its arguments, as a call has it."""
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
        """Clear `size` bytes."""

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
        """Call a native function that gives an i64; where it is 0 the schedule ends, and `refuse`
        raises.
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
        """An optimizer's update of several parameters of one dtype; its numbers begin at
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
        """Store a run-time number in scalars, "float" or "double"."""

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
        """The mean or sum of cross-entropies of contiguous logits, "float" or "double".

        `rows_of` is room for loss and weight of each row, and two numbers that its gradient needs.

        A class out of range ends the schedule, and `refuse` raises.
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
                )  # 0 / 0 is NaN, as it should be
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
        """The gradient of the logits; `used` are the weights of the rows, None for a sum; `scaled`
        is room for one number.
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
        """The module as LLVM IR."""
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
        """The functions besides loops, by symbol: what writes them."""
        for (rule, kind), symbol in self._updates.items():
            yield symbol, functools.partial(_emit_update, rule, kind)
        yield from self._functions.values()

    def _run(self, module: Module) -> None:
        """Add the function that makes the calls."""
        given = {f"a{k}": "ptr" for k in range(self.given)}
        f = module.function("run", "i64", team="ptr", table="ptr", numbers="ptr", **given)
        f.driver = True
        self._bases: dict[int, SSAValue] = {}
        for k in range(len(self.kept)):
            self._base(f, k)
        for call in self.calls:
            call(f)
        f.ret(f.const(0, "i64"))
        # between calls of Python code stand schedules that use few of many
        for k in set(range(self.given)) - self._used:
            del f.params[f"a{k}"]

    def units(self) -> Iterator[tuple[str, str]]:
        """The same in modules of one function each, called "unit", that is called by its address:
        their symbols, and the LLVM IR. The last one is "run"."""
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
                self.kept.append(0)  # filled when it is compiled
            yield symbol, text
        module = Module()
        self._run(module)
        yield "run", module.text()

    def compile(self, name: str, lengths: Lengths | None = None) -> CompiledSchedule | None:
        """The function of the given arrays; None where there is no compiler. `run.numbers` is the
        array of run-time numbers. `lengths` knows the code of schedules for other sizes.
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
        """The function that makes the calls, in one module with all that it calls."""
        natives = jit.compile_ir(self.text(), self._exports("run"), name)
        return None if natives is None else natives["run"]

    def _exports(self, symbol: str) -> dict[str, str | None]:
        """What a module gives, as `jit.compile_ir` takes it."""
        return {"run": "ppp" + "a" * len(self._used) + ">i"} if symbol == "run" else {"unit": None}

    def _adapted(self, name: str, lengths: Lengths) -> Any:
        """The same of code that schedules for other sizes share."""
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
    """Compile the loops that several schedules run once and by themselves."""
    times = Counter(loop for schedule in schedules for loop in schedule.loops)
    for schedule in schedules:
        for loop, kernel in schedule.loops.items():
            name = _by_itself(loop) if times[loop] > 1 else None
            if name is not None:
                schedule.common[kernel.symbol] = name


@functools.cache
def _by_itself(loop: Loop) -> str | None:
    """The name under which a loop, compiled by itself, is found; None where it cannot be."""
    kernel = emit(loop, "loop_" + hashlib.sha256(repr(loop).encode()).hexdigest()[:32])
    natives = jit.compile_ir(module_text([kernel]), {kernel.symbol: None}, "a loop")
    if natives is None:
        return None
    jit.define(kernel.symbol, natives[kernel.symbol])
    return kernel.symbol


@functools.lru_cache(512)
def _unit(kernel: Kernel) -> str:
    """A module of a kernel alone."""
    return _as_unit(module_text([kernel]), kernel.symbol)


def _as_unit(text: str, symbol: str) -> str:
    """A module whose function `symbol` is called "unit", and known to others."""
    text = re.sub(rf"@{re.escape(symbol)}(?![\w])", "@unit", text)
    return re.sub(r"define internal (\S+) @unit\(", r"define \1 @unit(", text)


def _emit_update(rule: optim.UpdateRule, kind: str, module: Module, symbol: str) -> None:
    optim.emit_flat_update(module, symbol, rule, kind)


def _address(thing: Any) -> int:
    return thing if isinstance(thing, int) else thing.ctypes.data


def aligned(size: int) -> np.ndarray:
    """Memory of `size` bytes that begins at a multiple of 128."""
    memory = np.empty(size + 128, np.uint8)
    start = -memory.ctypes.data % 128
    return memory[start : start + size]
