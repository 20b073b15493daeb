"""The language of dimensions: `B T 2*D ...`, and the sizes that its names take during one call."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class Mismatch(Exception):
    """A shape broke a contract: one sentence, and lines that say where the sizes came from."""

    def __init__(self, sentence: str, lines: list[str]) -> None:
        super().__init__(sentence)
        self.sentence, self.lines = sentence, lines


class Dim(NamedTuple):
    """One item of a shape: `kind` is "any", "size", "name", "rest" or "expression"; `broadcast`
    allows 1 as well.
    """

    kind: str
    text: str
    value: Any = None
    broadcast: bool = False


class Spec(NamedTuple):
    """A parsed shape."""

    text: str
    dims: tuple[Dim, ...]

    def fixed(self) -> tuple[int, ...] | None:
        """The sizes, when all of them are numbers."""
        return (
            tuple(d.value for d in self.dims) if all(d.kind == "size" for d in self.dims) else None
        )


@lru_cache(maxsize=1024)
def _parse_text(text: str) -> Spec:
    words = text.split()
    if words == ["()"]:
        words = []
    dims = tuple(_word(word, text) for word in words)
    _one_rest(dims, text)
    return Spec(show(dims), dims)


def parse(shape: str | Sequence[Any]) -> Spec:
    """A shape from text (`"B T 2*D"`) or from a sequence of ints, None, names, expressions and
    `...`.

    Raises:
        ValueError: it cannot be read.
    """
    if isinstance(shape, str):
        return _parse_text(shape)
    dims = []
    for item in shape:
        if item is None:
            dims.append(Dim("any", "_"))
        elif item is Ellipsis:
            dims.append(Dim("rest", "..."))
        elif isinstance(item, str):
            dims.append(_word(item.replace(" ", ""), repr(shape)))
        else:
            try:
                size = operator.index(item)
            except TypeError:
                raise ValueError(f"{item!r} in {shape!r} is no size, name, None or ...") from None
            dims.append(Dim("any", "_") if size == -1 else Dim("size", str(size), size))
    _one_rest(dims, repr(shape))
    return Spec(show(dims), tuple(dims))


def _one_rest(dims: Sequence[Dim], text: str) -> None:
    if sum(d.kind == "rest" for d in dims) > 1:
        raise ValueError(f"{text!r} leaves the number of dimensions open twice")


def show(dims: Sequence[Dim]) -> str:
    """Dimensions as a tuple is written."""
    return "(" + ", ".join(d.text for d in dims) + ("," if len(dims) == 1 else "") + ")"


def _word(word: str, text: str) -> Dim:
    written = word
    broadcast = False
    while word[:1] in ("#", "?"):
        broadcast = broadcast or word[0] == "#"
        word = word[1:]
    rest = word.startswith("*")
    if rest:
        word = word[1:]
        broadcast = broadcast or word.startswith("#")
        word = word.lstrip("#")
    name, _, number = word.partition("=")
    if number.isdecimal() and name.isidentifier():  # jaxtyping: `channels=3` says what the 3 is
        word = number
    if word == "...":
        return Dim("rest", "...")
    if word == "_" or (word.startswith("_") and word.isidentifier()):
        return Dim("rest", "...") if rest else Dim("any", word)
    if word.isdecimal():
        return Dim("size", written, int(word), broadcast)
    if word.isidentifier():
        return Dim("rest" if rest else "name", written, word, broadcast)
    try:
        tree = ast.parse(word, mode="eval").body
        _check(tree)
    except (SyntaxError, ValueError):
        raise ValueError(f"cannot read the dimension {written!r} in {text!r}") from None
    return Dim("expression", written, tree, broadcast)


def _check(tree: ast.AST) -> None:
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
        _check(tree.left)
        _check(tree.right)
    elif isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        _check(tree.operand)
    elif not (
        isinstance(tree, ast.Name) or (isinstance(tree, ast.Constant) and type(tree.value) is int)
    ):
        raise ValueError


def _names(tree: ast.AST) -> list[str]:
    return sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)})


class Bindings:
    """The names' sizes during one call, each with the place that bound it."""

    def __init__(self) -> None:
        self.sizes: dict[str, tuple[Any, str]] = {}
        # expressions with a name that is not bound yet
        self.waiting: list[tuple[Dim, int, str]] = []

    def copy(self) -> Bindings:
        """The same bindings, to be tried out."""
        other = Bindings()
        other.take(self)
        return other

    def take(self, other: Bindings) -> None:
        """Become what another one is."""
        self.sizes, self.waiting = dict(other.sizes), list(other.waiting)

    def match(self, spec: Spec, shape: tuple[int, ...], label: str) -> None:
        """Compare one shape, binding the names that are new.

        Raises:
            Mismatch: it does not fit.
        """
        dims, count = spec.dims, len(shape)
        place = next((i for i, d in enumerate(dims) if d.kind == "rest"), None)
        fits = count == len(dims) if place is None else count >= len(dims) - 1
        if not fits:
            least = "" if place is None else "at least "
            wanted = len(dims) - (place is not None)
            raise Mismatch(
                f"{label} should have {least}{wanted} dimension{'s' * (wanted != 1)}, {spec.text}, got {count}: {_tuple(shape)}",
                [],
            )
        if place is None:
            pairs = list(zip(dims, range(count), strict=True))
        else:
            tail = len(dims) - place - 1
            pairs = list(zip(dims[:place], range(place), strict=True))
            pairs += list(zip(dims[place + 1 :], range(count - tail, count), strict=True))
            if dims[place].value is not None:
                self._rest(dims[place], shape[place : count - tail], f"{label} {_tuple(shape)}")
        for dim, axis in pairs:
            self._one(dim, shape[axis], f"dimension {axis} of {label} {_tuple(shape)}", label)

    def _rest(self, dim: Dim, sizes: tuple[int, ...], where: str) -> None:
        known = self.sizes.get(dim.value)
        if known is None:
            self.sizes[dim.value] = (sizes, where)
        elif known[0] != sizes and not (dim.broadcast and _broadcasts(sizes, known[0])):
            raise Mismatch(
                f"dimensions *{dim.value} are {_tuple(known[0])} and {_tuple(sizes)}",
                [
                    f"*{dim.value} = {_tuple(known[0])} from {known[1]}",
                    f"*{dim.value} = {_tuple(sizes)} from {where}",
                ],
            )

    def _one(self, dim: Dim, size: int, where: str, label: str) -> None:
        if dim.kind == "any" or (dim.broadcast and size == 1):
            return
        if dim.kind == "size":
            if size != dim.value:
                raise Mismatch(
                    f"{label} should have size {dim.value}, got {size}", [f"{size} is {where}"]
                )
        elif dim.kind == "name":
            known = self.sizes.get(dim.value)
            if known is None:
                self.sizes[dim.value] = (size, where)
            elif known[0] != size:
                raise Mismatch(
                    f"dimension {dim.value} is {known[0]} and {size}",
                    [
                        f"{dim.value} = {known[0]} from {known[1]}",
                        f"{dim.value} = {size} from {where}",
                    ],
                )
        elif all(name in self.sizes for name in _names(dim.value)):
            self._expression(dim, size, where)
        else:
            self.waiting.append((dim, size, where))

    def _expression(self, dim: Dim, size: int, where: str) -> None:
        try:
            wanted = self._value(dim.value)
        except ZeroDivisionError:
            raise Mismatch(f"dimension {dim.text} divides by zero", self._origins(dim)) from None
        if wanted != size:
            raise Mismatch(
                f"dimension {dim.text} is {wanted} and {size}",
                [*self._origins(dim), f"{dim.text} = {size} from {where}"],
            )

    def _origins(self, dim: Dim) -> list[str]:
        return [
            f"{name} = {self.sizes[name][0]} from {self.sizes[name][1]}"
            for name in _names(dim.value)
        ]

    def _value(self, tree: Any) -> int:
        if isinstance(tree, ast.BinOp):
            return _OPERATORS[type(tree.op)](self._value(tree.left), self._value(tree.right))
        if isinstance(tree, ast.UnaryOp):
            return -self._value(tree.operand)
        if isinstance(tree, ast.Name):
            return int(self.sizes[tree.id][0])
        return int(tree.value)

    def finish(self) -> None:
        """Check the expressions that came before their names.

        Raises:
            Mismatch: one does not hold, or has a name that no shape bound.
        """
        for dim, size, where in self.waiting:
            missing = [name for name in _names(dim.value) if name not in self.sizes]
            if missing:
                raise Mismatch(
                    f"dimension {missing[0]} of {dim.text} is bound by no shape",
                    [f"{dim.text} = {size} from {where}"],
                )
            self._expression(dim, size, where)
        self.waiting.clear()


def _tuple(shape: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _broadcasts(sizes: tuple[int, ...], known: tuple[int, ...]) -> bool:
    return len(sizes) <= len(known) and all(
        a in (1, b) for a, b in zip(reversed(sizes), reversed(known), strict=False)
    )
