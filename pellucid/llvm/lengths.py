"""Compiled code that serves many sizes: functions whose IR differs only in numbers share one
compiled version, which reads those numbers from a table.

The IR of a function is parsed into a text with gaps and the numbers that fill them. Functions with
the same text around the gaps form a family. Where members of a family have different numbers in a
gap, the compiled code reads that number from memory; all other numbers are compiled in. A further
member that differs only in the gaps already read from memory needs no compilation.

    >>> def twice(n):
    ...     return f"define i64 @f(i64 %x) {{\\nentry:\\n  %y = mul i64 %x, {n}\\n  ret i64 %y\\n}}"
    >>> read(twice(2)).values, read(twice(3)).values
    (('2',), ('3',))
    >>> read(twice(2)).family == read(twice(3)).family
    True
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import re
import struct
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import jit

__all__ = ["Filling", "Lengths", "Text", "read"]

_INTEGER = r"-?\d+(?![\w.])"
_REAL = r"0x[0-9A-F]{16}"
# Places where a number can be replaced by one read from memory. The order matters: text in angle
# brackets (types and constant vectors) is matched first and left alone.
_TOKEN = re.compile(
    rf"""
    (?P<known><[^<>]*>)
  | alloca\ \[(?P<count>\d+)\ x\ (?P<of>\w+)\]
  | splat\ \((?P<lane>float|double|i64|i32|i16|i8)\ (?P<all>{_REAL}|{_INTEGER})\)
  | (?:(?:add|sub|mul|sdiv|srem|udiv|urem|and|or|xor|shl|ashr|lshr)|icmp\ \w+)\ i64
      \ (?:(?P<left>{_INTEGER})|%[\w.]+),\ (?:(?P<right>{_INTEGER})|%[\w.]+)
  | phi\ i64\ \[\ (?P<start>{_INTEGER})
  | \bi64\ (?P<typed>{_INTEGER})(?!\ x)
  | (?:f(?:add|sub|mul|div)|fcmp\ \w+)\ (?P<real>float|double)
      \ (?:(?P<first>{_REAL})|%[\w.]+),\ (?:(?P<second>{_REAL})|%[\w.]+)
  | \b(?P<kind>float|double)\ (?P<number>{_REAL})
  | br\ i1\ (?P<sure>true|false)
    """,
    re.VERBOSE,
)
_START = re.compile(r"^define [^\n]*\{\nentry:\n", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """LLVM IR split at its numbers: the pieces around them (one more than there are numbers), and
    the type and text of each number.
    """

    pieces: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[str, ...]

    @functools.cached_property
    def family(self) -> str:
        """A digest that is equal for texts that differ only in these numbers."""
        return hashlib.sha256("\0".join((*self.pieces, *self.kinds)).encode()).hexdigest()

    def written(self, gaps: Sequence[int], table: str) -> str:
        """Return the text with the numbers in `gaps` loaded from `table` at the beginning of each
        function that uses them.
        """
        places = {k: at for at, k in enumerate(gaps)}
        parts, loads = [self.pieces[0]], dict[str, str]()
        for k, (kind, value) in enumerate(zip(self.kinds, self.values, strict=True)):
            if k in places:
                parts.append(_filled(kind, places[k], table, loads))
            else:
                parts.append(_known(kind, value))
            parts.append(self.pieces[k + 1])
        text = "".join(parts)

        def with_loads(start: re.Match[str]) -> str:
            body = text[start.end() : text.index("\n}", start.end())]
            needed = [lines for name, lines in loads.items() if _uses(body, name)]
            return start[0] + "".join(needed)

        return _START.sub(with_loads, text) + f"\n@{table} = external global i64\n"

    def numbers(self, gaps: Sequence[int]) -> np.ndarray:
        """Return the contents of the table for the numbers in `gaps`."""
        return np.array([_bits(self.values[k]) for k in gaps], np.int64)


@functools.lru_cache(2048)
def read(text: str) -> Text:
    """Split LLVM IR into its numbers and the text around them."""
    pieces, kinds, values = [], [], []
    at = 0
    for start, end, kind, value in _gaps(text):
        pieces.append(text[at:start])
        kinds.append(kind)
        values.append(value)
        at = end
    pieces.append(text[at:])
    return Text(tuple(pieces), tuple(kinds), tuple(values))


def _gaps(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the numbers in a text as (start, end, kind, number), where kind is a type, "splat <n>
    <type>" or "array <type>".
    """
    for found in _TOKEN.finditer(text):
        group = found.lastgroup
        if group == "known":
            continue
        if group == "of":
            start, end = found.span("count")
            yield start - 1, found.end("of") + 1, f"array {found['of']}", found["count"]
        elif group == "all":
            kind = found["lane"]
            vector = text.rfind(
                f" x {kind}>", text.rfind("\n", 0, found.start()) + 1, found.start()
            )
            count = text[text.rindex("<", 0, vector) + 1 : vector] if vector >= 0 else ""
            if count.isdigit():
                yield *found.span(), f"splat {count} {kind}", found["all"]
        else:
            kind = found["real"] or found["kind"] or ("i1" if found["sure"] else "i64")
            for name in ("left", "right", "start", "typed", "first", "second", "number", "sure"):
                if found[name] is not None:
                    yield *found.span(name), kind, found[name]


def _known(kind: str, value: str) -> str:
    """Return the text of a number that is compiled in."""
    form, _, scalar = kind.rpartition(" ")
    if form == "array":
        return f"[{value} x {scalar}]"
    return f"splat ({scalar} {value})" if form else value


def _filled(kind: str, at: int, table: str, loads: dict[str, str]) -> str:
    """Return the operand that replaces a number of this kind, entry `at` of the table, and add to
    `loads` the instructions that load it, under the operand's name.
    """
    where = f"getelementptr (i64, ptr @{table}, i64 {at})"
    name = f"%length.{at}"
    *form, scalar = kind.split()
    if form == ["array"]:
        loads[name] = f"  {name} = load i64, ptr {where}\n"
        return f"{scalar}, i64 {name}"
    held = "double" if scalar in ("float", "double") else "i64"
    lines = f"  {name} = load {held}, ptr {where}\n"
    if scalar != held:
        lines = f"  {name}.wide = load {held}, ptr {where}\n"
        narrow = "fptrunc" if scalar == "float" else "trunc"
        lines += f"  {name} = {narrow} {held} {name}.wide to {scalar}\n"
    if not form:
        loads[name] = lines
        return name
    vector = f"<{form[1]} x {scalar}>"
    lines += f"  {name}.one = insertelement {vector} poison, {scalar} {name}, i32 0\n"
    lines += f"  {name}.all = shufflevector {vector} {name}.one, {vector} poison, <{form[1]} x i32> zeroinitializer\n"
    loads[f"{name}.all"] = lines
    return f"{name}.all"


def _uses(body: str, name: str) -> bool:
    return re.search(rf"{re.escape(name)}(?![\w.])", body) is not None


def _bits(value: str) -> int:
    """Return a number as a 64-bit integer: an integer itself, or the bits of a double."""
    if value.startswith("0x"):
        return int(struct.unpack(">q", bytes.fromhex(value[2:]))[0])
    return {"true": 1, "false": 0}[value] if value[0] in "tf" else int(value)


# ---- compiled ------------------------------------------------------------------------------------
class Area:
    """The tables that the code of one compiled function reads, and whose numbers they hold at the
    moment.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held while native code reads the tables
        self.filled_by: Any = None
        # each with the number of entries in use
        self._blocks: list[tuple[np.ndarray, list[int]]] = []
        # The suffixes of the tables that this area owns, by the common beginning of their names.
        self.own: dict[str, list[int]] = {}
        _areas.add(self)

    def owns(self, name: str, count: int) -> bool:
        """Return whether this area owns a table. It takes ownership if no living area has it."""
        with _owning:
            table = _tables.get(name) or self._made(name, count)
            if table.area() is None:
                table.area = weakref.ref(self)
            return table.area() is self

    def _made(self, name: str, count: int) -> _Table:
        """Allocate a new table. Tables share blocks, which a call fills in one step."""
        if not self._blocks or self._blocks[-1][1][0] + count > len(self._blocks[-1][0]):
            self._blocks.append((np.zeros(max(_BLOCK, count), np.int64), [0]))
        block, used = self._blocks[-1]
        table = _tables[name] = _Table(block, used[0])
        jit.define(name, block.ctypes.data + 8 * used[0])
        used[0] += count
        return table


@dataclass
class _Table:
    """The place of a table. Loaded code has its address compiled in, so it never moves."""

    block: np.ndarray
    start: int
    area: Callable[[], Area | None] = lambda: None


_BLOCK = 1 << 10
_tables: dict[str, _Table] = {}
_areas: weakref.WeakSet[Area] = weakref.WeakSet()
_owning = threading.Lock()


def _after_fork() -> None:
    # Another thread of the parent may have held a lock; nobody in the child would release it.
    global _owning
    _owning = threading.Lock()
    for area in _areas:
        area.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Filling:
    """The numbers that a set of functions reads from the tables of an area, for one set of sizes."""

    def __init__(self, area: Area) -> None:
        self.area = area
        self._parts: dict[str, np.ndarray] = {}

    def table(self, name: str, numbers: np.ndarray) -> str:
        """Return the name of a table that will hold `numbers` while the functions run: `name` with
        a numeric suffix.

        The suffix distinguishes it from tables of other areas, and from those of other functions in
        this area with other numbers.
        """
        known = self.area.own.setdefault(name, [])
        # Try this area's own tables first. Another area's table may have become free meanwhile, but
        # code that reads that table would have to be compiled again.
        for k in itertools.chain(known, itertools.count()):
            own = f"{name}_{k}"
            if self.area.owns(own, len(numbers)) and np.array_equal(
                self._parts.setdefault(own, numbers), numbers
            ):
                break
        if k not in known:
            known.append(k)
        return own

    def _by_block(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return what must be written as (block, positions in it, numbers)."""
        found: dict[int, tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]] = {}
        for name, numbers in self._parts.items():
            table = _tables[name]
            _, places, values = found.setdefault(id(table.block), (table.block, [], []))
            places.append(np.arange(table.start, table.start + len(numbers)))
            values.append(numbers)
        return [(b, np.concatenate(p), np.concatenate(v)) for b, p, v in found.values()]

    def around(self, native: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that writes these numbers to the tables if they hold others, and calls
        `native`.
        """
        parts = self._by_block()
        if not parts:
            return native
        area = self.area

        def run(*arguments: Any) -> Any:
            with area.lock:
                if area.filled_by is not self:
                    for block, places, numbers in parts:
                        block[places] = numbers
                    area.filled_by = self
                return native(*arguments)

        return run


class _Family:
    """Functions that differ only in numbers: the first of them, and the gaps in which others
    differ.
    """

    def __init__(self, first: Text) -> None:
        self.first = first
        self.gaps: tuple[int, ...] = ()
        self.text = ""  # the IR to compile, with "@lengths" in place of the table's name
        self.table = ""  # the common beginning of the names of its tables
        self._natives: dict[str, dict[str, Any] | None] = {}

    def admit(self, member: Text) -> None:
        """Add a member: numbers in which it differs from the first are read from memory from now
        on.
        """
        pairs = enumerate(zip(member.values, self.first.values, strict=True))
        gaps = tuple(sorted({k for k, (a, b) in pairs if a != b}.union(self.gaps)))
        if gaps != self.gaps:
            self.gaps = gaps
            self.text = self.first.written(gaps, "lengths")
            self.table = f"lengths_{hashlib.sha256(self.text.encode()).hexdigest()[:32]}"
            self._natives.clear()

    def compiled(
        self, table: str, exports: Mapping[str, str | None], name: str
    ) -> dict[str, Any] | None:
        """Return the compiled code that reads `table`."""
        if table not in self._natives:
            text = self.text.replace("@lengths", f"@{table}")
            self._natives[table] = jit.compile_ir(text, exports, name)
        return self._natives[table]


class Lengths:
    """The families of functions that make up the schedules of one compiled function."""

    def __init__(self) -> None:
        self._families: dict[Any, _Family] = {}
        self.area = Area()
        # Whether each schedule is compiled as a whole, as long as nothing indicates that other
        # sizes will follow; and weak references to the schedules that were.
        self.whole = True
        self.earlier: list[Callable[[], Any]] = []

    def note(self, text: str, exports: Mapping[str, str | None]) -> None:
        """Record a function that has been compiled without this class, as a member of its family."""
        self._family(read(text), exports)

    def _family(self, member: Text, exports: Mapping[str, str | None]) -> _Family:
        key = member.family, *exports.items()
        if key not in self._families:
            self._families[key] = _Family(member)
        return self._families[key]

    def compile(
        self, text: str, exports: Mapping[str, str | None], name: str, filling: Filling
    ) -> dict[str, Any] | None:
        """Like `jit.compile_ir`, but reuse the compiled code of the text's family if there is some.
        The numbers that the code reads from memory are added to `filling`.
        """
        member = read(text)
        family = self._family(member, exports)
        family.admit(member)
        if not family.gaps:
            return jit.compile_ir(text, exports, name)
        table = filling.table(family.table, member.numbers(family.gaps))
        return family.compiled(table, exports, name)
