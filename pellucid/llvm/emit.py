"""Writing LLVM IR as text: values with operators, counted loops, branches, vectors with masked
tails.

    >>> module = Module()
    >>> f = module.function("scale", x="ptr", n="i64", factor="double")
    >>> c = f.splat(f.trunc(f.factor, "float"), "<4 x float>")
    >>> def body(i, mask):
    ...     f.store(f.load("<4 x float>", f.x, i, mask=mask) * c, f.x, i, mask=mask)
    >>> f.vector_loop(f.n, 4, body)
    >>> f.ret()
    >>> "define void @scale(ptr %x, i64 %n, double %factor)" in module.text()
    True

Local variables (`Function.var`) are stack slots, which LLVM turns into registers.
"""

from __future__ import annotations

import functools
import operator
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["Function", "Module", "SSAValue", "Var", "constant", "element", "lanes", "vector"]

_NAME = re.compile(r"@([\w.]+)")
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
BYTES = {"float": 4, "double": 8, "i128": 16, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "ptr": 8}

# The LLVM types of dtypes in registers and in memory.
REGISTER = {
    "float32": "float",
    "float64": "double",
    "float16": "float",
    "bfloat16": "float",
    "bool": "i1",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
}
MEMORY = {**REGISTER, "float16": "i16", "bfloat16": "i16", "bool": "i8"}


def types_of(dtypes: str) -> dict[str, str]:
    """Return the LLVM types in memory of the dtypes that a kernel supports.

    >>> types_of("float32 int64")
    {'float32': 'float', 'int64': 'i64'}
    """
    return {name: MEMORY[name] for name in dtypes.split()}


@functools.cache
def vector(ctype: str, count: int) -> str:
    """Return the vector type of `count` elements of `ctype`; the scalar type if `count` is 1."""
    return f"<{count} x {ctype}>" if count > 1 else ctype


@functools.cache
def element(ctype: str) -> str:
    """Return the element type of a vector type; of a scalar type, the type itself."""
    match = _VECTOR.fullmatch(ctype)
    return match[2] if match else ctype


@functools.cache
def lanes(ctype: str) -> int:
    """Return the number of elements of a type, 1 for scalars."""
    match = _VECTOR.fullmatch(ctype)
    return int(match[1]) if match else 1


@functools.cache
def _is_float(ctype: str) -> bool:
    return element(ctype) in ("float", "double")


@functools.cache
def _suffix(ctype: str) -> str:
    """Return the suffix by which overloaded intrinsics name a type: v16f32, i64."""
    short = {"float": "f32", "double": "f64", "ptr": "p0"}.get(element(ctype), element(ctype))
    return f"v{lanes(ctype)}{short}" if lanes(ctype) > 1 else short


def constant(value: float, ctype: str) -> str:
    """Return a constant in LLVM's syntax; floats are written exactly, as their bits.

    >>> constant(0.1, "float"), constant(3, "<2 x i32>")
    ('0x3FB99999A0000000', 'splat (i32 3)')
    """
    kind = element(ctype)
    if kind in ("float", "double"):
        number = float(value)
        if kind == "float" and abs(number) < float("inf"):
            number = struct.unpack("f", struct.pack("f", number))[0]
        one = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    elif kind == "i1":
        one = "true" if value else "false"
    else:
        one = str(int(value))
    return one if lanes(ctype) == 1 else f"splat ({kind} {one})"


class SSAValue:
    """A typed SSA value. The operators `+ - * /` and `& | ^ << >>` emit instructions; Python
    numbers become constants of the value's type.
    """

    __slots__ = ("ctype", "function", "name")

    def __init__(self, function: Function, name: str, ctype: str) -> None:
        self.function, self.name, self.ctype = function, name, ctype

    def _binary(
        self, instructions: tuple[str, str], other: SSAValue | float, swap: bool = False
    ) -> SSAValue:
        other = self.function.as_value(other, self.ctype)
        op = instructions[0] if _is_float(self.ctype) else instructions[1]
        left, right = (other, self) if swap else (self, other)
        if self.ctype in ("i64", "i1") and (left.name[0] != "%" or right.name[0] != "%"):
            known = _folded(op, left, right)
            if known is not None:
                return known
        return self.function.once(f"{op} {self.ctype} {left.name}, {right.name}", self.ctype)

    def __add__(self, other):
        return self._binary(("fadd", "add"), other)

    def __sub__(self, other):
        return self._binary(("fsub", "sub"), other)

    def __mul__(self, other):
        return self._binary(("fmul", "mul"), other)

    def __truediv__(self, other):
        return self._binary(("fdiv", "sdiv"), other)

    def __floordiv__(self, other):
        return self._binary(("fdiv", "sdiv"), other)

    def __mod__(self, other):
        return self._binary(("frem", "srem"), other)

    def __radd__(self, other):
        return self._binary(("fadd", "add"), other, swap=True)

    def __rsub__(self, other):
        return self._binary(("fsub", "sub"), other, swap=True)

    def __rmul__(self, other):
        return self._binary(("fmul", "mul"), other, swap=True)

    def __rtruediv__(self, other):
        return self._binary(("fdiv", "sdiv"), other, swap=True)

    def __and__(self, other):
        return self._binary(("and", "and"), other)

    def __or__(self, other):
        return self._binary(("or", "or"), other)

    def __xor__(self, other):
        return self._binary(("xor", "xor"), other)

    def __lshift__(self, other):
        return self._binary(("shl", "shl"), other)

    def __rshift__(self, other):
        return self._binary(("ashr", "ashr"), other)

    def __neg__(self):
        if _is_float(self.ctype):
            return self.function.once(f"fneg {self.ctype} {self.name}", self.ctype)
        return 0 - self

    def compare(self, how: str, other: SSAValue | float) -> SSAValue:
        """Emit `icmp` or `fcmp` with one of LLVM's predicates (`slt`, `ult`, `eq`; `olt`, `uno`,
        `oge` ...).
        """
        other = self.function.as_value(other, self.ctype)
        op = "fcmp" if _is_float(self.ctype) else "icmp"
        if how in _COMPARE and self.ctype == "i64":
            numbers = _number(self), _number(other)
            if None not in numbers:
                return self.function.const(_COMPARE[how](*numbers), "i1")
        return self.function.once(
            f"{op} {how} {self.ctype} {self.name}, {other.name}", vector("i1", lanes(self.ctype))
        )


_COMPARE: dict[str, Callable[..., bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}


def _number(value: SSAValue) -> int | None:
    """Return the value of an i64 or i1 constant, or None if the operand is not a constant."""
    if value.name[0] in "%@":
        return None
    return {"true": 1, "false": 0}[value.name] if value.ctype == "i1" else int(value.name)


def _folded(op: str, left: SSAValue, right: SSAValue) -> SSAValue | None:
    """Return the result of integer arithmetic with a constant operand if it needs no instruction,
    else None.

    Where shapes are known, most of the arithmetic of addresses and loops folds away. Each
    instruction left out saves LLVM microseconds.
    """
    a, b = _number(left), _number(right)
    function, ctype = left.function, left.ctype
    if a is not None and b is not None and op in ("add", "sub", "mul"):
        made = a + b if op == "add" else a - b if op == "sub" else a * b
        return function.const(made, ctype) if ctype == "i64" and abs(made) < 1 << 62 else None
    if (
        op in ("add", "or")
        and a == 0
        or op == "and"
        and ctype == "i1"
        and a == 1
        or op == "mul"
        and a == 1
    ):
        return right
    if b == 0 and op in ("add", "sub", "or", "shl", "ashr") or b == 1 and op in ("mul", "sdiv"):
        return left
    if ctype == "i1" and (op == "and" and b == 1):
        return left
    if op in ("mul", "and") and 0 in (a, b) or op == "srem" and b == 1:
        return function.const(0, ctype)
    return None


class Var:
    """A local variable: a stack slot, which LLVM turns into a register."""

    __slots__ = ("ctype", "function", "slot")

    def __init__(self, function: Function, slot: str, ctype: str) -> None:
        self.function, self.slot, self.ctype = function, slot, ctype

    def get(self) -> SSAValue:
        """Emit a load of the variable's current value."""
        return self.function.emit(f"load {self.ctype}, ptr {self.slot}", self.ctype)

    def set(self, value: SSAValue | float) -> None:
        """Emit a store of a new value to the variable."""
        value = self.function.as_value(value, self.ctype)
        self.function.line(f"store {self.ctype} {value.name}, ptr {self.slot}")


class Module:
    """The functions of a module, and the declarations of the intrinsics that they use.

    Addresses count elements of type `real` ("float" or "double") unless a type is given.
    """

    def __init__(self, real: str = "float") -> None:
        self.real = real
        self.functions: list[Function] = []
        self.declarations: set[str] = set()

    def function(
        self, name: str, returns: str = "void", internal: Any = False, **params: str
    ) -> Function:
        """Add a function and return its builder, on which the parameters are attributes."""
        made = Function(self, name, returns, internal, params)
        self.functions.append(made)
        return made

    def text(self, only: str | None = None) -> str:
        """Return the module as LLVM IR; with `only`, that function and all functions that it calls.
        Semantics are IEEE throughout: no fast-math flag is ever set.
        """
        attributes = '{ nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }'
        texts = {function.name: function.text() for function in self.functions}
        declarations = self.declarations
        if only is not None:
            texts, used = _reachable(texts, only)
            declarations = {d for d in declarations if _NAME.findall(d)[0] in used}
        return (
            "\n".join([*texts.values(), *sorted(declarations)])
            + f"\nattributes #0 = {attributes}\n"
        )


def _reachable(texts: dict[str, str], start: str) -> tuple[dict[str, str], set[str]]:
    """Return the texts of the functions that are reachable from `start`, and all names that these
    texts mention.
    """
    found: dict[str, str] = {}
    used: set[str] = set()
    names = [start]
    while names:
        name = names.pop()
        if name in texts and name not in found:
            found[name] = texts[name]
            inside = set(_NAME.findall(texts[name]))
            used |= inside
            names += inside
    return {name: text for name, text in texts.items() if name in found}, used


class Function:
    """Builds one function block by block, in the order in which its methods are called."""

    def __init__(
        self, module: Module, name: str, returns: str, internal: bool, params: dict[str, str]
    ) -> None:
        self.module, self.name, self.returns, self.internal, self.params = (
            module,
            name,
            returns,
            internal,
            params,
        )
        self._lines: list[str] = []
        self._slots: list[str] = []
        self._count = 0
        self._block = "entry"
        # Results of `once` that are usable at this point, by the instruction's text: one dictionary
        # per open scope.
        self._known: list[dict[str, SSAValue]] = [{}]
        self.noinline = False
        # set for loops over single elements, whose address arithmetic LLVM should optimize
        self.scalar = False
        # set for code that runs a few times per call: compiled quickly, without optimization
        self.driver = False
        for param, ctype in params.items():
            setattr(self, param, SSAValue(self, f"%{param}", ctype))

    # tells type checkers that parameters are attributes
    def __getattr__(self, name: str) -> SSAValue:
        raise AttributeError(name)

    # Plain instructions.

    def _fresh(self, prefix: str = "t") -> str:
        self._count += 1
        return f"{prefix}.{self._count}"

    def line(self, text: str) -> None:
        """Append an instruction that has no result."""
        self._lines.append("  " + text)

    def emit(self, text: str, ctype: str) -> SSAValue:
        """Append an instruction and return its result, of type `ctype`."""
        name = "%" + self._fresh()
        self._lines.append(f"  {name} = {text}")
        return SSAValue(self, name, ctype)

    def once(self, text: str, ctype: str) -> SSAValue:
        """Like `emit`, for an instruction without side effects that depends on its operands alone.
        If the same instruction has been emitted where its result is usable, that result is
        returned.
        """
        for known in self._known:
            if text in known:
                return known[text]
        made = self._known[-1][text] = self.emit(text, ctype)
        return made

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Enclose code that does not always run, so that later code does not reuse results computed
        in it.
        """
        self._known.append({})
        yield
        self._known.pop()

    def const(self, value: float, ctype: str) -> SSAValue:
        """Return a number as a constant of type `ctype`."""
        return SSAValue(self, constant(value, ctype), ctype)

    def vector_const(self, values: Sequence[float], kind: str) -> SSAValue:
        """Return a constant vector of the given elements."""
        text = "<" + ", ".join(f"{kind} {constant(float(v), kind)}" for v in values) + ">"
        return SSAValue(self, text, vector(kind, len(values)))

    def as_value(self, value: SSAValue | float, ctype: str) -> SSAValue:
        """Return `value` itself, or a number as a constant of type `ctype`. Raises TypeError for a
        value of another type: nothing is widened silently.
        """
        if isinstance(value, SSAValue):
            if value.ctype != ctype:
                raise TypeError(f"{ctype} expected, {value.ctype} given")
            return value
        return self.const(value, ctype)

    def var(self, ctype: str, initial: SSAValue | float | None = None) -> Var:
        """Return a new local variable, set to `initial` at this point."""
        slot = "%" + self._fresh("v")
        self._slots.append(f"  {slot} = alloca {ctype}")
        made = Var(self, slot, ctype)
        if initial is not None:
            made.set(initial)
        return made

    def buffer(self, ctype: str, count: int, align: int = 64) -> SSAValue:
        """Return the address of a block of `count` elements on the stack."""
        slot = "%" + self._fresh("b")
        self._slots.append(f"  {slot} = alloca [{count} x {ctype}], align {align}")
        return SSAValue(self, slot, "ptr")

    def ret(self, value: SSAValue | None = None) -> None:
        """Emit a return, with a value or without."""
        self.line(f"ret {value.ctype} {value.name}" if value else "ret void")

    def call(self, name: str, *args: SSAValue, returns: str = "void") -> SSAValue | None:
        """Emit a call of a function of this module; return its result, or None if it is void."""
        text = f"call {returns} @{name}({', '.join(f'{a.ctype} {a.name}' for a in args)})"
        if returns == "void":
            self.line(text)
            return None
        return self.emit(text, returns)

    def intrinsic(
        self, name: str, ctype: str, *args: SSAValue, overload: str | None = None
    ) -> SSAValue:
        """Emit a call of the intrinsic `llvm.<name>`, overloaded on `ctype` (or on the suffix
        `overload`).
        """
        full = f"llvm.{name}.{overload or _suffix(ctype)}"
        self.module.declarations.add(f"declare {ctype} @{full}({', '.join(a.ctype for a in args)})")
        # results of masked loads and gathers are not reused, since memory may change in between
        made = self.emit if name.startswith("masked.") else self.once
        return made(
            f"call {ctype} @{full}({', '.join(f'{a.ctype} {a.name}' for a in args)})", ctype
        )

    def addresses(self, base: SSAValue, where: SSAValue, ctype: str) -> SSAValue:
        """Return a vector with the address of the element at each position in `where`."""
        return self.emit(
            f"getelementptr {ctype}, ptr {base.name}, {where.ctype} {where.name}",
            vector("ptr", lanes(where.ctype)),
        )

    def gather(self, ctype: str, addresses: SSAValue, mask: SSAValue, align: int) -> SSAValue:
        """Load a vector from the given addresses; lanes outside `mask` are 0."""
        overload = f"{_suffix(ctype)}.v{lanes(ctype)}p0"
        return self.intrinsic(
            "masked.gather",
            ctype,
            addresses,
            self.const(align, "i32"),
            mask,
            self.const(0, ctype),
            overload=overload,
        )

    def scatter(self, value: SSAValue, addresses: SSAValue, mask: SSAValue, align: int) -> None:
        """Store the lanes of `value` inside `mask` to the given addresses."""
        name = f"llvm.masked.scatter.{_suffix(value.ctype)}.v{lanes(value.ctype)}p0"
        self.module.declarations.add(
            f"declare void @{name}({value.ctype}, {addresses.ctype}, i32, {mask.ctype})"
        )
        operands = f"{value.ctype} {value.name}, {addresses.ctype} {addresses.name}, i32 {align}, {mask.ctype} {mask.name}"
        self.line(f"call void @{name}({operands})")

    # Arithmetic beyond operators.

    def fma(self, a: SSAValue, b: SSAValue | float, c: SSAValue | float) -> SSAValue:
        """a * b + c, rounded once."""
        return self.intrinsic(
            "fma", a.ctype, a, self.as_value(b, a.ctype), self.as_value(c, a.ctype)
        )

    def polynomial(self, x: SSAValue, coefficients: list[float]) -> SSAValue:
        """Evaluate a polynomial by Horner's rule, with coefficients from the highest power down."""
        total = self.const(coefficients[0], x.ctype)
        for c in coefficients[1:]:
            total = self.fma(total, x, c)
        return total

    def select(self, condition: SSAValue, yes: SSAValue | float, no: SSAValue | float) -> SSAValue:
        """Emit `condition ? yes : no`; one of the two may be a number."""
        ctype = (
            yes.ctype
            if isinstance(yes, SSAValue)
            else no.ctype
            if isinstance(no, SSAValue)
            else "i64"
        )
        yes, no = self.as_value(yes, ctype), self.as_value(no, ctype)
        if condition.name in ("true", "false"):
            return yes if condition.name == "true" else no
        text = f"select {condition.ctype} {condition.name}, {ctype} {yes.name}, {ctype} {no.name}"
        return self.once(text, ctype)

    def fabs(self, x: SSAValue) -> SSAValue:
        """Return |x|, of a float or of each lane."""
        return self.intrinsic("fabs", x.ctype, x)

    def sqrt(self, x: SSAValue) -> SSAValue:
        """Return the square root, correctly rounded."""
        return self.intrinsic("sqrt", x.ctype, x)

    def rint(self, x: SSAValue) -> SSAValue:
        """Round to the nearest integer, halves to even, and return it as a float."""
        return self.intrinsic("rint", x.ctype, x)

    def copysign(self, magnitude: SSAValue, sign: SSAValue) -> SSAValue:
        """Return |magnitude| with the sign bit of `sign`."""
        return self.intrinsic("copysign", sign.ctype, magnitude, sign)

    def larger(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        """Return a > b ? a : b, which is one instruction on x86. It is b if either is NaN."""
        return self.select(a.compare("ogt" if _is_float(a.ctype) else "sgt", b), a, b)

    def smaller(self, a: SSAValue, b: SSAValue | float) -> SSAValue:
        """Return a < b ? a : b; it is b if either is NaN."""
        return self.select(a.compare("olt" if _is_float(a.ctype) else "slt", b), a, b)

    def _convert(self, op: str, value: SSAValue, ctype: str) -> SSAValue:
        if value.ctype == ctype:
            return value
        return self.once(f"{op} {value.ctype} {value.name} to {ctype}", ctype)

    def bitcast(self, value: SSAValue, ctype: str) -> SSAValue:
        """Reinterpret the bits as another type of the same size."""
        return self._convert("bitcast", value, ctype)

    def trunc(self, value: SSAValue, ctype: str) -> SSAValue:
        """Convert to a narrower type of the same kind."""
        return self._convert("fptrunc" if _is_float(value.ctype) else "trunc", value, ctype)

    def extend(self, value: SSAValue, ctype: str) -> SSAValue:
        """Convert to a wider type of the same kind (integers are signed)."""
        return self._convert("fpext" if _is_float(value.ctype) else "sext", value, ctype)

    def to_float(self, value: SSAValue, ctype: str) -> SSAValue:
        """Convert signed integers to floats."""
        return self._convert("sitofp", value, ctype)

    def to_int(self, value: SSAValue, ctype: str) -> SSAValue:
        """Convert floats to signed integers, rounding toward zero. Undefined if the integer does
        not fit.
        """
        return self._convert("fptosi", value, ctype)

    # Vectors.

    def splat(self, value: SSAValue | float, ctype: str) -> SSAValue:
        """Broadcast a scalar to every lane of the vector type `ctype`."""
        if not isinstance(value, SSAValue):
            return self.const(value, ctype)
        if lanes(ctype) == 1:
            return value
        if value.name[0] not in "%@":
            return SSAValue(self, f"splat ({value.ctype} {value.name})", ctype)
        first = self.once(f"insertelement {ctype} poison, {value.ctype} {value.name}, i32 0", ctype)
        zeros = vector("i32", lanes(ctype))
        return self.once(
            f"shufflevector {ctype} {first.name}, {ctype} poison, {zeros} zeroinitializer", ctype
        )

    def iota(self, ctype: str) -> SSAValue:
        """Return the integer vector 0, 1, 2 ..."""
        kind = element(ctype)
        return SSAValue(
            self, "<" + ", ".join(f"{kind} {i}" for i in range(lanes(ctype))) + ">", ctype
        )

    def tail_mask(self, count: SSAValue, width: int) -> SSAValue:
        """Return a mask of `width` lanes in which the lanes below `count` are set (`count` is an
        i64 and may exceed `width`).
        """
        few = self.smaller(count, width)
        wide = vector("i32", width)
        return self.iota(wide).compare("slt", self.splat(self.trunc(few, "i32"), wide))

    def shuffle(self, a: SSAValue, b: SSAValue, pick: list[int]) -> SSAValue:
        """Return a vector of lanes of `a` and `b` in the order of `pick`: numbers from 0 are lanes
        of `a`, those from lanes(a) on are lanes of `b`.
        """
        kind = vector(element(a.ctype), len(pick))
        indices = "<" + ", ".join(f"i32 {i}" for i in pick) + ">"
        text = (
            f"shufflevector {a.ctype} {a.name}, {a.ctype} {b.name}, <{len(pick)} x i32> {indices}"
        )
        return self.emit(text, kind)

    def fold(self, value: SSAValue, combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """Combine the lanes of a vector pairwise, in a fixed tree, to a scalar."""
        count = lanes(value.ctype)
        while count > 2:
            count //= 2
            low = self.shuffle(value, value, list(range(count)))
            high = self.shuffle(value, value, list(range(count, 2 * count)))
            value = combine(low, high)
        if count == 2:
            kind = element(value.ctype)
            low, high = (
                self.emit(f"extractelement {value.ctype} {value.name}, i32 {i}", kind)
                for i in (0, 1)
            )
            value = combine(low, high)
        return value

    def total(self, value: SSAValue) -> SSAValue:
        """Return the sum of the lanes, added in a fixed order."""
        return self.fold(value, lambda a, b: a + b)

    # Memory. Indices count elements of the scalar type that is read or written.

    def at(self, pointer: SSAValue, index: SSAValue | int, ctype: str = "") -> SSAValue:
        """Return the address of element `index` of an array of `ctype` (by default the module's
        float type).
        """
        index = self.as_value(index, "i64")
        if index.name == "0":
            return pointer
        ctype = ctype or self.module.real
        return self.once(f"getelementptr {ctype}, ptr {pointer.name}, i64 {index.name}", "ptr")

    def prefetch(
        self,
        pointer: SSAValue,
        index: SSAValue | int,
        ctype: str = "",
        write: bool = False,
        near: int = 3,
    ) -> None:
        """Prefetch the cache line of an address that will be read (or written) soon into the
        first-level cache, or with `near=2` into the second-level cache.

        Any address is allowed.
        """
        self.module.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.line(
            f"call void @llvm.prefetch.p0(ptr {self.at(pointer, index, ctype).name}, i32 {int(write)}, i32 {near}, i32 1)"
        )

    def load(
        self,
        ctype: str,
        pointer: SSAValue,
        index: SSAValue | int | None = None,
        mask: SSAValue | None = None,
        other: float = 0,
    ) -> SSAValue:
        """Load a scalar or vector. Lanes outside `mask` are not read and become `other`."""
        kind = element(ctype)
        where = pointer if index is None else self.at(pointer, index, kind)
        if mask is None:
            return self.emit(f"load {ctype}, ptr {where.name}, align {BYTES[kind]}", ctype)
        return self.intrinsic(
            "masked.load",
            ctype,
            where,
            self.const(BYTES[kind], "i32"),
            mask,
            self.const(other, ctype),
            overload=f"{_suffix(ctype)}.p0",
        )

    def store(
        self,
        value: SSAValue,
        pointer: SSAValue,
        index: SSAValue | int | None = None,
        mask: SSAValue | None = None,
    ) -> None:
        """Store a value to `pointer[index]`; with `mask`, only the lanes that are set in it."""
        kind = element(value.ctype)
        where = pointer if index is None else self.at(pointer, index, kind)
        if mask is None:
            self.line(f"store {value.ctype} {value.name}, ptr {where.name}, align {BYTES[kind]}")
            return
        name = f"llvm.masked.store.{_suffix(value.ctype)}.p0"
        self.module.declarations.add(f"declare void @{name}({value.ctype}, ptr, i32, {mask.ctype})")
        operands = f"{value.ctype} {value.name}, ptr {where.name}, i32 {BYTES[kind]}, {mask.ctype} {mask.name}"
        self.line(f"call void @{name}({operands})")

    # Control flow.

    def _start(self, label: str) -> None:
        self._lines.append(f"{label}:")
        self._block = label

    @contextmanager
    def loop(
        self, start: SSAValue | int, stop: SSAValue | int, step: SSAValue | int = 1
    ) -> Iterator[SSAValue]:
        """Emit `for i in range(start, stop, step)` with a positive step around the code of the
        block: `with f.loop(0, n) as i:`.
        """
        start, stop, step = (self.as_value(v, "i64") for v in (start, stop, step))
        head, done, index = self._fresh("loop"), self._fresh("done"), "%" + self._fresh("i")
        enter = start.compare("slt", stop)
        self.line(f"br i1 {enter.name}, label %{head}, label %{done}")
        before = self._block
        self._start(head)
        phi = len(self._lines)
        self._lines.append("")  # completed below, when the last block of the body is known
        with self._scope():
            yield SSAValue(self, index, "i64")
            following = SSAValue(self, index, "i64") + step
            again = following.compare("slt", stop)
        self.line(f"br i1 {again.name}, label %{head}, label %{done}")
        self._lines[phi] = (
            f"  {index} = phi i64 [ {start.name}, %{before} ], [ {following.name}, %{self._block} ]"
        )
        self._start(done)

    @contextmanager
    def loop_while(self) -> Iterator[Callable[[SSAValue], None]]:
        """Emit a loop that ends when a condition is false. The block gets a function, which it must
        call once, anywhere in the body, with the condition for going on.
        """
        head, done = self._fresh("while"), self._fresh("done")
        self.line(f"br label %{head}")
        self._start(head)

        def unless(condition: SSAValue) -> None:
            inside = self._fresh("inside")
            self.line(f"br i1 {condition.name}, label %{inside}, label %{done}")
            self._start(inside)

        with self._scope():
            yield unless
        self.line(f"br label %{head}")
        self._start(done)

    @contextmanager
    def when(self, condition: SSAValue) -> Iterator[None]:
        """Emit the code of the block so that it runs only if `condition` (an i1) holds."""
        yes, done = self._fresh("yes"), self._fresh("done")
        self.line(f"br i1 {condition.name}, label %{yes}, label %{done}")
        self._start(yes)
        with self._scope():
            yield
        self.line(f"br label %{done}")
        self._start(done)

    def branch(self, condition: SSAValue, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """Emit an if-else: `yes()` emits the code for a true condition, `no()` that for a false
        one.
        """
        if condition.name in ("true", "false"):
            return yes() if condition.name == "true" else no()
        labels = [self._fresh(name) for name in ("yes", "no", "done")]
        self.line(f"br i1 {condition.name}, label %{labels[0]}, label %{labels[1]}")
        for label, emit in zip(labels[:2], (yes, no), strict=True):
            self._start(label)
            with self._scope():
                emit()
            self.line(f"br label %{labels[2]}")
        self._start(labels[2])

    def vector_loop(
        self,
        count: SSAValue,
        width: int,
        body: Callable[[SSAValue, SSAValue | None], None],
        unroll: int = 1,
        start: int = 0,
    ) -> None:
        """Emit `body(i, mask)` over `start..count` in steps of `width`. `mask` is None in the main
        loop; in the tail it is the mask of the lanes that exist.
        """
        whole = count - (count - start) % (width * unroll)
        with self.loop(start, whole, width * unroll) as i:
            for u in range(unroll):
                body(i + u * width if u else i, None)
        with self.loop(whole, count, width) as i:
            body(i, self.tail_mask(count - i, width))

    def text(self) -> str:
        """Return the function as LLVM IR."""
        params = ", ".join(f"{ctype} %{name}" for name, ctype in self.params.items())
        linkage = "internal " if self.internal else ""
        inline = (
            (" noinline" if self.noinline else "")
            + (' "driver"' if self.driver else "")
            + (' "scalar"' if self.scalar else "")
        )
        lines = [f"define {linkage}{self.returns} @{self.name}({params}) #0{inline} {{", "entry:"]
        return "\n".join(lines + self._slots + self._lines + ["}"])
