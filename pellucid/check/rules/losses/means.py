"""Find in the source what a program does with the mean of each batch: does it add them up and
divide by the number of batches?
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..source.places import tree as parsed


@dataclass(slots=True)
class Average:
    """`line` and `text` of the expression that takes the mean of means, None where there is none;
    `added`: where the means are added up.

    `returned`: the number is handed to the caller, who must be looked at; `summed`: it is the sum
    of those of all batches by then; `code`: whose line it is, where that is another function.
    """

    line: int | None = None
    text: str = ""
    added: str | None = None
    returned: bool = False
    summed: bool = False
    code: CodeType | None = None


def average_of(filename: str, line: int, names: dict[str, Any], summed: bool = False) -> Average:
    """What becomes of the number that is made on a line. `names` has the values of the running
    function's variables; `summed`: the number is the sum of those of all batches.
    """
    tree = parsed(filename)
    if tree is None:
        return Average()
    scope: Any = tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (
            node.end_lineno or line
        ):
            scope = node if scope is tree or node.lineno >= scope.lineno else scope
    statement = statement_at(scope, line)
    return Average() if statement is None else _Reader(scope, statement, names, summed).read()


def statement_at(scope: Any, line: int) -> ast.stmt | None:
    """The smallest simple statement on the line."""
    found = None
    for node in ast.walk(scope):
        if isinstance(
            node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
        ) and node.lineno <= line <= (node.end_lineno or line):
            found = node
    return found


def _by_rows(node: ast.BinOp) -> bool:
    """Whether a sum over a batch is divided by the number of its rows, which makes a mean of it."""
    if not isinstance(node.op, ast.Div) or "sum(" not in ast.unparse(node.left):
        return False
    below = ast.unparse(node.right)
    return below.startswith("len(") or below.endswith((".size(0)", ".shape[0]", ".numel()"))


_COUNTS = re.compile(r"(n|num|count|size|len|length|weight|row|total)s?$|(num|n)_\w+$|bs$")


def _sums(call: ast.Call) -> bool:
    """Whether a call adds up: `sum(...)`, `np.sum(...)`, `torch.stack(...).sum()`."""
    return getattr(call.func, "attr", getattr(call.func, "id", "")) in ("sum", "fsum", "nansum")


def _summands(call: ast.Call) -> list[ast.AST]:
    """What a call adds up: its argument, or what its method is called on, conversions left out."""
    node: ast.AST | None = call.args[0] if call.args else getattr(call.func, "value", None)
    found: list[ast.AST] = []
    while node is not None:
        found.append(node)
        node = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return found


def _transposed(value: ast.AST) -> bool:
    """`zip(*[f(x, y) for x, y in loader])`."""
    return (
        isinstance(value, ast.Call)
        and getattr(value.func, "id", "") == "zip"
        and any(isinstance(a, ast.Starred) for a in value.args)
    )


class _Reader:
    """Follows one number through the statements of a function."""

    def __init__(
        self, scope: Any, statement: ast.stmt, names: dict[str, Any], summed: bool
    ) -> None:
        self.summed = summed
        self.scope = scope
        self.statement = statement
        self.names = names
        self.single: set[str] = set()  # variables that hold the mean of one batch
        self.sums: dict[str, str] = {}  # variables that hold their sum -> the statement that adds
        self.lists: dict[str, str] = {}

    def read(self) -> Average:
        """The expression that takes the mean of means."""
        found = (
            self._divided(self.statement)
            if self.summed
            else self._at_once() or self._counted_as_one() or self._metered() or self._running()
        )
        if found is not None:
            return found
        if isinstance(self.statement, ast.Return) and self.statement.value is not None:
            whole = self._divided(self.statement.value)
            return whole or Average(
                returned=True, summed=self.summed or self._is_sum(self.statement.value)
            )
        self._take(self.statement, True)
        statements = [n for n in ast.walk(self.scope) if isinstance(n, ast.stmt)]
        for _ in range(3):
            for node in statements:
                self._take(node, False)
        for part in ast.walk(self.scope):
            added = self._is_average(part)
            if added is not None:
                return Average(
                    getattr(part, "lineno", 0), " ".join(ast.unparse(part).split()), added
                )
        returned = any(
            isinstance(n, ast.Return)
            and n.value is not None
            and self._mentions(n.value, self.single)
            for n in statements
        )
        return Average(returned=returned and not self.sums and not self.lists)

    def _is_sum(self, value: ast.AST) -> bool:
        """`sum(loss(x, y).item() for x, y in loader)` in the statement itself, or of a list."""
        if not isinstance(value, ast.Call) or not _sums(value):
            return False
        return any(
            isinstance(inner, (ast.GeneratorExp, ast.ListComp))
            and self._holds(inner)
            and self._concerned(inner.elt, True)
            or ast.unparse(inner) in self.lists
            for inner in _summands(value)
        )

    def _divided(self, value: ast.AST) -> Average | None:
        """`evaluate(loader) / len(loader)`, where the function gives back a sum."""
        for part in ast.walk(value) if self.summed else ():
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
                if self._is_count(part.right) and any(
                    isinstance(n, ast.Call) for n in ast.walk(part.left)
                ):
                    text = " ".join(ast.unparse(part).split())
                    return Average(part.lineno, text, "the sum that is returned")
        return None

    def _at_once(self) -> Average | None:
        """`statistics.mean(loss(batch).item() for batch in loader)` in the statement itself."""
        for part in ast.walk(self.statement):
            inner = part.args[0] if isinstance(part, ast.Call) and part.args else None
            if isinstance(inner, (ast.GeneratorExp, ast.ListComp)) and self._concerned(
                inner.elt, True
            ):
                assert isinstance(part, ast.Call)
                name = (
                    part.func.attr
                    if isinstance(part.func, ast.Attribute)
                    else getattr(part.func, "id", "")
                )
                if name in ("mean", "fmean", "average", "nanmean"):
                    return Average(
                        part.lineno, " ".join(ast.unparse(part).split()), ast.unparse(inner)
                    )
        return None

    def _counted_as_one(self) -> Average | None:
        """`meter.update(loss.item())`, where `def update(self, value, n=1)` counts rows."""
        call = self.statement.value if isinstance(self.statement, ast.Expr) else None
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Attribute)
            or len(call.args) != 1
            or call.keywords
        ):
            return None
        if not self._concerned(call.args[0], True):
            return None
        meter = self._value(call.func.value)
        function = getattr(type(meter), call.func.attr, None)
        code = getattr(function, "__code__", None)
        if code is None or getattr(function, "__defaults__", None) != (1,) or code.co_argcount != 3:
            return None
        if code.co_varnames[2] not in (
            "n",
            "num",
            "count",
            "size",
            "k",
            "weight",
            "batch_size",
            "bs",
            "num_samples",
            "val_size",
        ):
            return None
        return Average(
            call.lineno,
            " ".join(ast.unparse(call).split()),
            f"{code.co_varnames[2]} is 1 by default",
        )

    def _metered(self) -> Average | None:
        """`meter.update(loss.item(), len(x))`, where `update` adds the mean as it is, and counts one."""
        call = self.statement.value if isinstance(self.statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return None
        place = next((k for k, a in enumerate(call.args) if self._concerned(a, True)), None)
        kind = type(self._value(call.func.value))
        code = getattr(getattr(kind, call.func.attr, None), "__code__", None)
        tree = parsed(code.co_filename) if code is not None and place is not None else None
        if tree is None or code is None or place is None or place + 1 >= code.co_argcount:
            return None
        given = code.co_varnames[place + 1]
        added, counted = "", ""
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.AugAssign)
                and isinstance(node.op, ast.Add)
                and any(line == node.lineno for *_, line in code.co_lines())
            ):
                if ast.unparse(node.value) == given:
                    added, where = ast.unparse(node.target), node
                elif getattr(node.value, "value", None) == 1:
                    counted = ast.unparse(node.target)
        if not added or not counted:
            return None
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                if ast.unparse(node.left) == added and counted in ast.unparse(node.right):
                    text = " ".join(ast.unparse(node).split())
                    return Average(where.lineno, text, ast.unparse(where), code=code)
        return None

    def _running(self) -> Average | None:
        """`mean += (loss - mean) / (i + 1)`."""
        node = self.statement
        target = (
            node.target
            if isinstance(node, ast.AugAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        value = getattr(node, "value", None)
        if target is None or value is None:
            return None
        text = ast.unparse(target)
        if isinstance(node, ast.Assign):
            if (
                not isinstance(value, ast.BinOp)
                or not isinstance(value.op, ast.Add)
                or ast.unparse(value.left) != text
            ):
                return None
            value = value.right
        if (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Div)
            and self._is_count(value.right)
        ):
            left = value.left
            if (
                isinstance(left, ast.BinOp)
                and isinstance(left.op, ast.Sub)
                and ast.unparse(left.right) == text
            ):
                return Average(node.lineno, " ".join(ast.unparse(node).split()), None)
        return None

    def _mentions(self, node: ast.AST, texts: Any) -> bool:
        return any(
            isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(n) in texts
            for n in ast.walk(node)
        )

    def _concerned(self, value: ast.AST, first: bool) -> bool:
        """Whether an expression is the number, not multiplied by anything."""
        if any(
            isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Mult, ast.Div)) and not _by_rows(n)
            for n in ast.walk(value)
        ):
            return False
        return first or self._mentions(value, self.single)

    def _take(self, node: ast.stmt, first: bool) -> None:
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and self._concerned(node.value, first)
        ):
            self.sums[ast.unparse(node.target)] = ast.unparse(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not self._concerned(node.value, first):
                return
            for target in targets:
                text = ast.unparse(target)
                if first and self.summed or self._is_sum(node.value):
                    self.sums[text] = ast.unparse(node)
                elif isinstance(target, ast.Tuple) and _transposed(node.value):
                    self.lists.update(
                        (ast.unparse(t), ast.unparse(node))
                        for t in target.elts
                        if not _COUNTS.match(ast.unparse(t))
                    )
                elif isinstance(target, ast.Subscript) and not isinstance(
                    target.slice, ast.Constant
                ):
                    self.lists[ast.unparse(target.value)] = ast.unparse(node)
                elif isinstance(node.value, ast.ListComp):
                    self.lists[text] = ast.unparse(node)
                elif (
                    isinstance(node.value, ast.BinOp)
                    and isinstance(node.value.op, ast.Add)
                    and self._mentions(node.value, {text})
                ):
                    self.sums[text] = ast.unparse(node)  # total = total + loss
                elif isinstance(target, ast.Tuple):
                    self.single.update(ast.unparse(t) for t in target.elts)
                elif (
                    not self._mentions(node.value, (*self.sums, *self.lists))
                    and text not in self.sums
                ):
                    self.single.add(text)
        elif (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Attribute)
        ):
            call, called = node.value, node.value.func
            if called.attr == "append" and call.args and self._concerned(call.args[0], first):
                self.lists[ast.unparse(called.value)] = ast.unparse(node)

    def _is_average(self, node: ast.AST) -> str | None:
        """The statement that adds up, when the node is a mean over batches."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            if not self._is_count(node.right):
                return None
            left = node.left
            for text, added in self.sums.items():
                if self._mentions(left, {text}):
                    return added
            for inner in _summands(left) if isinstance(left, ast.Call) and _sums(left) else ():
                if ast.unparse(inner) in self.lists:
                    return self.lists[ast.unparse(inner)]
                if (
                    isinstance(inner, (ast.GeneratorExp, ast.ListComp))
                    and self._holds(inner)
                    and self._concerned(inner, True)
                ):
                    return ast.unparse(inner)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            if ast.unparse(node.target) in self.sums and self._is_count(node.value):
                return self.sums[ast.unparse(node.target)]
        elif isinstance(node, ast.Call):
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else node.func.id
                if isinstance(node.func, ast.Name)
                else ""
            )
            if name in ("mean", "fmean", "average", "nanmean") and not any(
                k.arg == "weights" for k in node.keywords
            ):
                looked = [
                    *node.args[:1],
                    *([node.func.value] if isinstance(node.func, ast.Attribute) else []),
                ]
                for text, added in self.lists.items():
                    if any(self._mentions(part, {text}) for part in looked):
                        return added
        return None

    def _holds(self, node: ast.expr) -> bool:
        return self.statement.lineno <= node.lineno <= (self.statement.end_lineno or node.lineno)

    def _is_count(self, node: ast.AST, depth: int = 0) -> bool:
        """Whether an expression is a number of batches."""
        if depth > 4:
            return False
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("max", "min", "float", "int"):
                return any(self._is_count(a, depth + 1) for a in node.args)
            if name.endswith("ceil"):
                return True
            if name == "len" and node.args:
                text = ast.unparse(node.args[0])
                if text in self.lists:
                    return True
                thing = self._value(node.args[0])
                return (
                    hasattr(thing, "batch_size")
                    and hasattr(thing, "dataset")
                    or isinstance(thing, (list, tuple))
                    and self._is_looped_over(text)
                )
            return False
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return (
                isinstance(node.right, ast.Constant)
                and node.right.value == 1
                and self._is_enumerated(node.left)
            )
        text = ast.unparse(node)
        for n in ast.walk(self.scope):
            if (
                isinstance(n, ast.AugAssign)
                and isinstance(n.op, ast.Add)
                and ast.unparse(n.target) == text
            ):
                return isinstance(n.value, ast.Constant) and n.value.value == 1
            if (
                isinstance(n, ast.Assign)
                and any(ast.unparse(t) == text for t in n.targets)
                and not isinstance(n.value, ast.Constant)
            ):
                return self._is_count(n.value, depth + 1)
        return False

    def _is_looped_over(self, text: str) -> bool:
        return any(
            isinstance(n, (ast.For, ast.comprehension)) and ast.unparse(n.iter) == text
            for n in ast.walk(self.scope)
        )

    def _is_enumerated(self, node: ast.expr) -> bool:
        text = ast.unparse(node)
        return any(
            isinstance(n, ast.For)
            and isinstance(n.iter, ast.Call)
            and ast.unparse(n.iter.func) == "enumerate"
            and isinstance(n.target, ast.Tuple)
            and ast.unparse(n.target.elts[0]) == text
            for n in ast.walk(self.scope)
        )

    def _value(self, node: ast.AST) -> Any:
        return value_of(node, self.names)


def value_of(node: ast.AST, names: dict[str, Any]) -> Any:
    """What a name or a chain of attributes is now."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, names)
        return (
            vars(owner).get(node.attr) if owner is not None and hasattr(owner, "__dict__") else None
        )
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = value_of(node.value, names)
        return owner.get(node.slice.value) if isinstance(owner, dict) else None
    return None
