"""Schemas of operators: their text as PyTorch writes it, read into arguments, types and results.

>>> schema = parse("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
>>> schema.name, schema.overload_name, [a.name for a in schema.arguments]
('aten::add', 'Tensor', ['self', 'other', 'alpha'])
>>> print(schema)
aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

from .. import devices, dtypes
from ..core.tensor import Tensor
from ..errors import ArgumentValueError

# What PyTorch calls a type of a schema in its messages; the numbers behind enumerations are ints.
_SHOWN = {
    "Scalar": "number",
    "SymInt": "int",
    "SymBool": "bool",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
}
# Element types by the numbers that they have behind schemas.
SCALAR_TYPES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool "
    "qint8 quint8 qint32 bfloat16"
).split()
_TYPE = re.compile(
    r"(?P<base>\w[\w.]*)(?:\((?P<alias>[^)]*)\))?(?P<rest>(?:\[\d*\]|\?)*)(?:\((?P<late>[^)]*)\))?"
)


class SchemaType:
    """The type of an argument or a result: a base in any number of brackets and question marks,
    innermost first.

    >>> str(SchemaType("Tensor", ("?", "[]")))
    'List[Optional[Tensor]]'
    """

    __slots__ = ("base", "outer")

    def __init__(self, base: str, outer: tuple[str, ...] = ()) -> None:
        self.base, self.outer = base, outer

    def within(self) -> SchemaType:
        """The type without its last bracket or question mark."""
        return SchemaType(self.base, self.outer[:-1])

    @property
    def optional(self) -> bool:
        """Whether None is one of its values."""
        return self.outer[-1:] == ("?",)

    @property
    def is_list(self) -> bool:
        """Whether its values are lists, or None."""
        return any(o != "?" for o in self.outer)

    def kind(self) -> str:
        """PyTorch's word for the class of types it is of."""
        if self.outer:
            return "OptionalType" if self.optional else "ListType"
        return {
            "Scalar": "NumberType",
            "str": "StringType",
            "SymInt": "IntType",
            "t": "VarType",
        }.get(self.base, f"{_SHOWN.get(self.base, self.base).capitalize()}Type")

    def getElementType(self) -> SchemaType:  # noqa: N802 (PyTorch's name)
        """The type of an item, or of what is not None."""
        return self.within()

    def __str__(self) -> str:
        if not self.outer:
            return _SHOWN.get(self.base, self.base)
        return f"{'Optional' if self.optional else 'List'}[{self.within()}]"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaType) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def takes(self, value: Any) -> bool:
        """Whether an argument of this type may be `value`."""
        if self.optional:
            return value is None or self.within().takes(value)
        if self.outer:
            size = self.outer[-1][1:-1]
            inner = self.within()
            if size and not inner.outer and not isinstance(value, (list, tuple)):
                return inner.takes(value)  # one number stands for a list of that length
            return isinstance(value, (list, tuple)) and all(map(inner.takes, value))
        return _takes(self.base, value)


def _takes(base: str, value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if base == "Tensor":
        return isinstance(value, Tensor)
    if base in ("int", "SymInt"):
        return (
            whole
            or not isinstance(value, (Tensor, float, complex, bool, str))
            and hasattr(value, "__index__")
        )
    if base == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool) or _symbolic(value)
    if base in ("Scalar", "complex"):
        return isinstance(value, (bool, int, float, complex)) or _symbolic(value)
    if base in ("bool", "SymBool"):
        return isinstance(value, bool) or _symbolic(value)
    if base == "str":
        return isinstance(value, str)
    if base == "ScalarType":
        return whole or isinstance(value, dtypes.dtype)
    if base == "Layout":
        return whole or isinstance(value, devices.layout)
    if base == "MemoryFormat":
        return whole or isinstance(value, dtypes.memory_format)
    if base == "Device":
        return isinstance(value, (str, int, devices.device))
    if base == "Generator":
        return hasattr(value, "manual_seed")
    if base == "Storage":
        return hasattr(value, "nbytes") and not isinstance(value, Tensor)
    return base in ("t", "t1", "t2", "Any", "AnyEnumType") or not base.islower()


def _symbolic(value: Any) -> bool:
    return (
        hasattr(value, "__float__")
        and not isinstance(value, (Tensor, str))
        and not hasattr(value, "__len__")
    )


class AliasInfo:
    """Which memory a tensor of a schema shares, and whether it is written to."""

    __slots__ = ("after_set", "before_set", "is_write")

    def __init__(self, text: str) -> None:
        before, _, after = text.partition(" -> ")
        self.is_write = "!" in before
        self.before_set = set(before.replace("!", "").split("|"))
        self.after_set = set((after or before).replace("!", "").split("|"))


class Argument:
    """An argument or a result in the schema of an operator.

    >>> import pellucid as torch
    >>> argument = torch.ops.aten.add.Tensor._schema.arguments[2]
    >>> argument.name, argument.kwarg_only, argument.default_value
    ('alpha', True, 1)
    """

    __slots__ = (
        "N",
        "alias_info",
        "default_value",
        "kwarg_only",
        "name",
        "real_type",
        "required",
        "type",
    )

    def __init__(self, text: str, kwarg_only: bool = False) -> None:
        match = _TYPE.match(text)
        if match is None:
            raise ArgumentValueError(f"not an argument of a schema: {text!r}")
        outer = re.findall(r"\[\d*\]|\?", match["rest"])
        self.type = self.real_type = SchemaType(match["base"], tuple(outer))
        alias = match["alias"] or match["late"]
        self.alias_info = None if alias is None else AliasInfo(alias)
        self.kwarg_only = kwarg_only
        sizes = [o[1:-1] for o in outer if o != "?" and len(o) > 2]
        self.N = int(sizes[-1]) if sizes else None
        self.name, equals, default = text[match.end() :].strip().partition("=")
        self.required = not equals
        self.default_value = self._value(default) if equals else None

    def _value(self, text: str) -> Any:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = {
                "strided": 0,
                "Mean": 1,
                "contiguous_format": 0,
                "float": 6,
                "long": 4,
                "inf": float("inf"),
            }.get(text, text)
        if self.N is not None and value is not None and not isinstance(value, list):
            value = [value] * self.N
        return float(value) if self.type.base == "float" and type(value) is int else value

    @property
    def is_out(self) -> bool:
        """Whether it is what the results are written into."""
        return self.kwarg_only and self.is_write

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return not self.required

    def __repr__(self) -> str:
        return f"<Argument {self.type} {self.name}>"


class FunctionSchema:
    """The signature of an operator's overload. `str()` gives its text.

    >>> import pellucid as torch
    >>> schema = torch.ops.aten.add.Tensor._schema
    >>> str(schema)
    'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor'
    """

    __slots__ = ("arguments", "is_mutable", "name", "overload_name", "returns", "text")

    def __init__(self, text: str) -> None:
        match = re.fullmatch(r"\s*([\w:]+)(?:\.(\w+))?\((.*)\) -> (.*?)\s*", text, re.DOTALL)
        if match is None:
            raise RuntimeError(f"not the schema of a function: {text!r}")
        self.text = text.strip()
        self.name, self.overload_name = match[1], match[2] or ""
        self.arguments: list[Argument] = []
        named = False
        for part in _parts(match[3]):
            if part == "*":
                named = True
            else:
                self.arguments.append(Argument(part, named))
        results = _parts(match[4][1:-1]) if match[4].startswith("(") else [match[4]]
        self.returns = [Argument(part) for part in results]
        self.is_mutable = any(a.is_write for a in self.arguments)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def _parts(text: str) -> list[str]:
    """What commas outside of brackets divide."""
    found, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            found.append(text[start:k].strip())
            start = k + 1
    return [*found, text[start:].strip()] if text.strip() else []


@cache
def parse(text: str) -> FunctionSchema:
    """The schema that a text spells (`torch._C.parse_schema`).

    >>> import pellucid as torch
    >>> schema = torch._C.parse_schema("aten::relu(Tensor self) -> Tensor")
    >>> schema.name, [argument.name for argument in schema.arguments]
    ('aten::relu', ['self'])
    """
    return FunctionSchema(text)


# ---- those of aten ---------------------------------------------------------------------------
# What a letter before a schema in the file says: the name of a `torch.Tag`, but for "c" and "j".
LETTERS = {
    "c": "composite",
    "k": "core",
    "p": "pointwise",
    "r": "reduction",
    "s": "nondeterministic_seeded",
    "v": "view_copy",
    "y": "dynamic_output_shape",
    "d": "data_dependent_output",
    "i": "inplace_view",
    "m": "maybe_aliasing_or_mutating",
    "e": "needs_exact_strides",
    "g": "generated",
    "f": "needs_fixed_stride_order",
    "j": "of TorchScript alone",
}


@cache
def aten() -> dict[str, dict[str, tuple[str, str]]]:
    """{operator: {overload ("default" for that without a name): (letters, text of the schema)}}."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in (
        Path(__file__).with_name("schemas.txt").read_text(encoding="utf-8").splitlines()[1:]
    ):
        letters, _, rest = line.partition(" ")
        if rest.endswith(" <<"):
            packet, _, overload = rest[:-3].partition(".")
            text = in_place_form(found[packet[:-1]][overload or "default"][1])
        elif " < " in rest:
            name, _, origin = rest.partition(" < ")
            packet, _, overload = name.partition(".")
            text = out_form(found[packet][origin or "default"][1], overload)
        else:
            packet, _, overload = rest.partition("(")[0].partition(".")
            text = rest
        assert text is not None
        found.setdefault(packet, {})[overload or "default"] = (letters, text)
    return found


@cache
def words(packet: str) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """For each overload of an operator the names of its tensors and numbers, and of its other
    arguments; empty for what is none.
    """
    found = []
    for overload, (_, text) in aten().get(packet, {}).items():
        given = [a for a in parse(f"aten::{text}").arguments if "out" not in overload]
        inputs = [a.name for a in given if a.type.base in ("Tensor", "Scalar")]
        found.append((tuple(inputs), tuple([a.name for a in given if a.name not in inputs])))
    return tuple(found)


@cache
def _kept() -> dict[str, str]:
    text = Path(__file__).with_name("kept.txt").read_text(encoding="utf-8")
    return {line.partition(" ")[0]: line.partition(" ")[2] for line in text.splitlines()[1:]}


@cache
def kept(node: str) -> dict[str, str] | None:
    """What PyTorch's node of this name keeps: to each word the letter of its kind (`tools/kept_words.py`);
    None where there is no such node.
    """
    words = _kept().get(node)
    if words is None:
        return None
    pairs = (word.partition(":") for word in words.split())
    return {word: kind for word, _, kind in pairs}


@cache
def _operator_of(node: str) -> list[FunctionSchema]:
    """The overloads of the operator that a node is of."""
    stem = re.sub("(?<=[a-z])(?=[A-Z])", "_", node.partition("Backward")[0]).lower()
    found = aten().get(stem) or aten().get(f"_{stem}") or {}
    return [parse(f"aten::{text}") for name, (_, text) in found.items() if "out" not in name]


def results(node: str, word: str) -> list[str]:
    """What the results of a node's operator are called, in the overload that calls one by `word`."""
    known = ([r.name for r in s.returns] for s in _operator_of(node))
    return next((names for names in known if word in names), [])


def default(node: str, word: str) -> tuple[Any] | None:
    """The default of an argument of a node's operator, in a tuple; None where it has none."""
    for schema in _operator_of(node):
        for a in schema.arguments:
            if a.name == word and a.has_default_value():
                return (a.default_value,)
    return None


_OPTIONS = re.compile(
    r"(, )?ScalarType\? dtype=None, Layout\? layout=None, Device\? device=None, bool\? pin_memory=None"
)


def out_form(text: str, name: str) -> str | None:
    """The schema of the form `name` that writes into `out`, by the rule that holds for most; None
    where the rule says nothing.
    """
    head, result = text.rsplit(" -> ", 1)
    packet, arguments = head[:-1].split("(", 1)
    arguments = re.sub(r"Tensor\(\w+!?\)", "Tensor", arguments)
    if _OPTIONS.search(arguments):
        arguments = (
            _OPTIONS.sub("", arguments)
            .replace("*, , ", "*, ")
            .removesuffix(", *")
            .removesuffix("*")
        )
    if result in ("Tensor", "Tensor(a)", "Tensor(a!)"):
        outs, result = "Tensor(a!) out", "Tensor(a!)"
    elif result == "Tensor[]":
        outs, result = "Tensor(a!)[] out", "()"
    elif re.fullmatch(r"\((Tensor( \w+)?(, )?)+\)", result):
        parts = [part.split() for part in result[1:-1].split(", ")]
        marks = [f"Tensor({'abcdefgh'[k]}!)" for k in range(len(parts))]
        outs = ", ".join(
            f"{mark} {p[1] if len(p) > 1 else f'out{k}'}"
            for k, (mark, p) in enumerate(zip(marks, parts, strict=True))
        )
        result = (
            f"({', '.join(' '.join([mark, *p[1:]]) for mark, p in zip(marks, parts, strict=True))})"
        )
    else:
        return None
    comma = "*, " if not arguments else ", " if "*, " in arguments else ", *, "
    return f"{packet.split('.')[0]}.{name}({arguments}{comma}{outs}) -> {result}"


def in_place_form(text: str) -> str | None:
    """The schema of the form in place of a functional one, by the rule that holds for most; None
    where the rule says nothing.
    """
    head, result = text.rsplit(" -> ", 1)
    name, arguments = head.split("(", 1)
    if result != "Tensor" or not arguments.startswith("Tensor self"):
        return None
    packet, dot, overload = name.partition(".")
    return f"{packet}_{dot}{overload}(Tensor(a!){arguments[6:]} -> Tensor(a!)"
