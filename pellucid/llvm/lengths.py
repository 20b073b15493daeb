"""Code that serves many sizes: functions whose texts differ in numbers alone are compiled once, with
those numbers in a table.

A function of LLVM IR is read as a text with gaps, and the numbers in them. Two functions with the
same text around the gaps are one family. Where members of a family have different numbers in a gap,
the code that is compiled reads that number from memory; everywhere else it has the number itself. A
member with the same numbers there needs no compiler.

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
# What may hold a number that code can read from memory instead. The order matters: what is written
# in angle brackets, types and constant vectors, is taken first and left alone.
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
    """A text of LLVM IR as what stands around its numbers (one piece more than numbers), and the
    type and text of each number.
    """

    pieces: tuple[str, ...]
    kinds: tuple[str, ...]
    values: tuple[str, ...]

    @functools.cached_property
    def family(self) -> str:
        """What texts have in common that differ in these numbers alone."""
        return hashlib.sha256("\0".join((*self.pieces, *self.kinds)).encode()).hexdigest()

    def written(self, gaps: Sequence[int], table: str) -> str:
        """The text, with the numbers in `gaps` read from `table` where a function begins."""
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
        """What the table holds for the numbers in `gaps`."""
        return np.array([_bits(self.values[k]) for k in gaps], np.int64)


@functools.lru_cache(2048)
def read(text: str) -> Text:
    """A text of LLVM IR with its numbers apart."""
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
    """Where the numbers are, with what they are (a type, "splat <n> <type>", "array <type>") and
    their texts.
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
    """A number that stays in the text."""
    form, _, scalar = kind.rpartition(" ")
    if form == "array":
        return f"[{value} x {scalar}]"
    return f"splat ({scalar} {value})" if form else value


def _filled(kind: str, at: int, table: str, loads: dict[str, str]) -> str:
    """What stands in a gap, and how it is read, under its name."""
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
    """A number as 64 bits: an integer, or those of a double."""
    if value.startswith("0x"):
        return int(struct.unpack(">q", bytes.fromhex(value[2:]))[0])
    return {"true": 1, "false": 0}[value] if value[0] in "tf" else int(value)


# ---- compiled ------------------------------------------------------------------------------------
class Area:
    """The tables that one compiled function's code reads, and whose numbers are in them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held while code reads the tables
        self.filled_by: Any = None
        self._blocks: list[tuple[np.ndarray, list[int]]] = []  # with how much of each is used
        # by the beginning of a table's name: the numbers behind it of those that are owned
        self.own: dict[str, list[int]] = {}
        _areas.add(self)

    def owns(self, name: str, count: int) -> bool:
        """Whether a table is this area's, which it becomes where no area has it."""
        with _owning:
            table = _tables.get(name) or self._made(name, count)
            if table.area() is None:
                table.area = weakref.ref(self)
            return table.area() is self

    def _made(self, name: str, count: int) -> _Table:
        """A new table, beside others, which a call fills in one go."""
        if not self._blocks or self._blocks[-1][1][0] + count > len(self._blocks[-1][0]):
            self._blocks.append((np.zeros(max(_BLOCK, count), np.int64), [0]))
        block, used = self._blocks[-1]
        table = _tables[name] = _Table(block, used[0])
        jit.define(name, block.ctypes.data + 8 * used[0])
        used[0] += count
        return table


@dataclass
class _Table:
    """Where a table is: code that was loaded knows the address, so it stays there."""

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
    """The numbers that some functions read from the tables of an area, for one set of sizes."""

    def __init__(self, area: Area) -> None:
        self.area = area
        self._parts: dict[str, np.ndarray] = {}

    def table(self, name: str, numbers: np.ndarray) -> str:
        """The name of a table that holds these numbers while the functions run: `name`, with a
        number behind it that tells it from those of other areas, and of other functions of this one
        that have other numbers in theirs.
        """
        known = self.area.own.setdefault(name, [])
        # Its own ones first: another area's may have become free since, and its code would be
        # compiled anew.
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
        """What is to be written: blocks, the places in each, and the numbers."""
        found: dict[int, tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]] = {}
        for name, numbers in self._parts.items():
            table = _tables[name]
            _, places, values = found.setdefault(id(table.block), (table.block, [], []))
            places.append(np.arange(table.start, table.start + len(numbers)))
            values.append(numbers)
        return [(b, np.concatenate(p), np.concatenate(v)) for b, p, v in found.values()]

    def around(self, native: Callable[..., Any]) -> Callable[..., Any]:
        """A native function that runs with these numbers in the tables."""
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
    """Functions that differ in numbers alone: the first one, and which numbers differ in others."""

    def __init__(self, first: Text) -> None:
        self.first = first
        self.gaps: tuple[int, ...] = ()
        self.text = ""  # what is compiled, with "@lengths" for the table
        self.table = ""  # how names of tables begin
        self._natives: dict[str, dict[str, Any] | None] = {}

    def admit(self, member: Text) -> None:
        """Read from memory what differs in one more member."""
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
        """The code that reads a table."""
        if table not in self._natives:
            text = self.text.replace("@lengths", f"@{table}")
            self._natives[table] = jit.compile_ir(text, exports, name)
        return self._natives[table]


class Lengths:
    """The families of functions that the schedules of one compiled function consist of."""

    def __init__(self) -> None:
        self._families: dict[Any, _Family] = {}
        self.area = Area()
        # whether schedules are compiled as a whole, as they are while nothing says that there will
        # be other sizes; and weak references to those that were
        self.whole = True
        self.earlier: list[Callable[[], Any]] = []

    def note(self, text: str, exports: Mapping[str, str | None]) -> None:
        """Take note of a function that has been compiled otherwise."""
        self._family(read(text), exports)

    def _family(self, member: Text, exports: Mapping[str, str | None]) -> _Family:
        key = member.family, *exports.items()
        if key not in self._families:
            self._families[key] = _Family(member)
        return self._families[key]

    def compile(
        self, text: str, exports: Mapping[str, str | None], name: str, filling: Filling
    ) -> dict[str, Any] | None:
        """`jit.compile_ir` of a text, by the code of its family where there is some; `filling` gets
        the numbers that the code reads from memory.
        """
        member = read(text)
        family = self._family(member, exports)
        family.admit(member)
        if not family.gaps:
            return jit.compile_ir(text, exports, name)
        table = filling.table(family.table, member.numbers(family.gaps))
        return family.compiled(table, exports, name)
