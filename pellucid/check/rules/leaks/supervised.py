"""Inputs that were computed from the labels of all rows: columns chosen by their scores, categories
replaced by their mean label. NumPy usually does this before the first tensor exists, so the rule
reads the source.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any

from ..source.places import Place, function_around, tree, walk

_CONVERTS = frozenset(
    "tensor as_tensor from_numpy asarray array float long double int to astype view reshape unsqueeze squeeze clone copy numpy cuda cpu "
    "FloatTensor LongTensor Tensor ravel flatten type ascontiguousarray".split()
)
_REDUCES = frozenset(
    "mean sum std var median quantile bincount corrcoef cov dot matmul einsum fit fit_transform groupby lstsq pinv svd histogram scatter_add "
    "scatter_add_ index_add index_add_ nanmean average f_classif f_regression chi2 mutual_info_classif mutual_info_regression".split()
)
_DRAWS = re.compile(
    r"(^|\.)(rand|randn|randint|random|normal|standard_normal|uniform|choice|bernoulli|poisson|multinomial|integers|sample)$"
)
_MODULES = frozenset(
    {"torch", "np", "numpy", "nn", "F", "pd", "self", "len", "range", "int", "float"}
)


def told_by_labels(site: Any, inputs: str, targets: list[str]) -> Place | None:
    """The line that makes something of the labels of all rows that a model's inputs are made of;
    None when there is none.

    Args:
        site: where the model is called; its function, and the file outside of any, are read.
        inputs: what it is called with, as written there.
        targets: what its results are compared with in training.
    """
    root = tree(site.file)
    if root is None:
        return None
    scope = _Scope(root, function_around(site.file, site.line))
    given = _parsed(inputs)
    wanted = [node for text in targets if (node := _parsed(text)) is not None]
    if given is None or not wanted:
        return None
    own, rows, bounds = scope.same([given], None)
    labels, more, _ = scope.same(wanted, bounds)
    labels -= own
    if not labels:
        return None
    rows |= more
    found = [
        statement
        for statement in scope.behind(given)
        if scope.learns(statement, labels, rows, bounds)
    ]
    return Place(site.file, min(found, key=lambda s: s.lineno).lineno) if found else None


def in_dataset(site: Any, text: str) -> tuple[str, list[str]] | None:
    """(inputs, targets) as written in the TensorDataset that a loader was made of; None when there
    is none to be seen.
    """
    root, node = tree(site.file), _parsed(text)
    scope = _Scope(root, function_around(site.file, site.line)) if root is not None else None
    for _ in range(6):
        if node is None or scope is None:
            return None
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "TensorDataset"
        ):
            return (
                (ast.unparse(node.args[0]), [ast.unparse(node.args[1])])
                if len(node.args) > 1
                else None
            )
        if isinstance(node, ast.Call) and node.args:
            node = node.args[0]
        else:
            made = scope.made.get(ast.unparse(node))
            node = made[-1][1] if made else None
    return None


def labels_of_datasets(site: Any) -> list[str]:
    """What stands for the targets in the TensorDatasets of the file of a place."""
    root = tree(site.file)
    return [
        ast.unparse(node.args[1])
        for node in (walk(root) if root is not None else ())
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) == "TensorDataset"
        and len(node.args) > 1
    ]


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _bounds(node: ast.Slice) -> set[str]:
    return {ast.unparse(n) for n in (node.lower, node.upper) if n is not None}


def _adds_axes(node: ast.Tuple) -> bool:
    """`[:, None]`: all of it, in another shape."""
    return all(ast.unparse(e) in (":", "None", "...", "np.newaxis") for e in node.elts)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - _MODULES


class _Scope:
    """The statements of a function, or of a file outside of any, that give names their values."""

    def __init__(self, root: ast.Module, function: ast.FunctionDef | None) -> None:
        self.functions = {n.name: n for n in walk(root) if isinstance(n, ast.FunctionDef)}
        self.made: dict[str, list[tuple[ast.stmt, ast.expr]]] = {}
        for body in (root.body, function.body if function is not None else []):
            for statement in _statements(body):
                for name, value in _gives(statement):
                    self.made.setdefault(name, []).append((statement, value))

    def same(
        self, nodes: list[ast.expr], bounds: set[str] | None
    ) -> tuple[set[str], set[str], set[str]]:
        """(the names of the same numbers before conversions and selections of rows, the names of
        what selected the rows, the bounds of what was cut out). With `bounds` only what is cut at
        one of them is followed: `y[:n]` where the inputs are `x[n:]`."""
        waiting, names, rows, cuts = list(nodes), set[str](), set[str](), set[str]()
        for _ in range(60):
            if not waiting:
                break
            node = waiting.pop()
            if isinstance(node, ast.Subscript):
                if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                    names.add(ast.unparse(node))
                elif isinstance(node.slice, ast.Slice):
                    cuts |= _bounds(node.slice)
                    if bounds is None or _bounds(node.slice) & bounds:
                        waiting.append(node.value)
                elif isinstance(node.slice, ast.Tuple):
                    waiting += [node.value] if _adds_axes(node.slice) else []
                elif not isinstance(node.slice, ast.Constant):
                    rows |= self._iterated(_names(node.slice))
                    waiting.append(node.value)
            elif isinstance(node, ast.Call):
                func = node.func
                if getattr(func, "attr", getattr(func, "id", "")) not in _CONVERTS:
                    continue
                if isinstance(func, ast.Attribute) and not _is_module(func.value):
                    waiting.append(func.value)
                else:
                    waiting += node.args[:1]
            elif isinstance(node, (ast.Name, ast.Attribute)):
                text = ast.unparse(node)
                if text not in names:
                    names.add(text)
                    waiting += [value for _, value in self.made.get(text, [])]
        return names, rows, cuts

    def _iterated(self, names: set[str]) -> set[str]:
        """Names of rows, those that they are drawn from in a loop, and those that were converted to
        them.
        """
        found, waiting = set[str](), set(names)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found.add(name)
            for statement, value in self.made.get(name, []):
                called = (
                    getattr(value.func, "attr", getattr(value.func, "id", ""))
                    if isinstance(value, ast.Call)
                    else ""
                )
                if (
                    isinstance(statement, ast.For)
                    or called in _CONVERTS
                    or called in ("setdiff1d", "delete", "difference")
                ):
                    waiting |= _names(value)
        return found

    def behind(self, node: ast.expr) -> list[ast.stmt]:
        """The statements that an expression's value comes from."""
        waiting, seen, found = _texts(node), set[str](), dict[int, ast.stmt]()
        while waiting and len(seen) < 200:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for statement, value in self.made.get(name, []):
                found[id(statement)] = statement
                waiting |= _texts(value)
        return list(found.values())

    def learns(
        self, statement: ast.stmt, labels: set[str], rows: set[str], bounds: set[str]
    ) -> bool:
        """Whether a statement reduces labels, and not those of the training rows alone, to
        something.
        """
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.expr) or _draws(value):
            return False
        for holder, use in _uses(value, labels):
            if isinstance(holder, ast.Subscript) and holder.value is use:
                if (
                    _names(holder.slice) & rows
                    or isinstance(holder.slice, ast.Slice)
                    and _bounds(holder.slice) & bounds
                ):
                    continue
            calls = [
                n
                for n in ast.walk(value)
                if isinstance(n, ast.Call) and any(m is use for m in ast.walk(n))
            ]
            if any(
                _names(a) & rows for c in calls for a in (*c.args, *(k.value for k in c.keywords))
            ):
                continue
            called = [
                f for c in calls if (f := self.functions.get(getattr(c.func, "id", ""))) is not None
            ]
            if any(_draws(f) for f in called):
                continue
            if any(_reduces(n) for n in (value, *called)):
                return True
        return False


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _MODULES


def _texts(node: ast.expr) -> set[str]:
    """The names that an expression uses, attributes and columns with a name among them."""
    found = _names(node)
    for n in ast.walk(node):
        if (
            isinstance(n, ast.Attribute)
            or isinstance(n, ast.Subscript)
            and isinstance(n.slice, ast.Constant)
        ):
            found.add(ast.unparse(n))
    return found


def _uses(value: ast.expr, labels: set[str]) -> Iterator[tuple[ast.AST | None, ast.AST]]:
    """(what holds it, the expression) of each use of labels: by their name, or by the name of their
    column, as in `groupby(k)["label"]`.
    """
    holders = {id(child): node for node in ast.walk(value) for child in ast.iter_child_nodes(node)}
    columns = {m[1] for text in labels if (m := re.search(r"\['(\w+)'\]$", text)) is not None}
    for n in ast.walk(value):
        if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant):
            if (
                ast.unparse(n) in labels
                or n.slice.value in columns
                and "groupby" in ast.unparse(n.value)
            ):
                yield holders.get(id(n)), n
        elif isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) in labels:
            yield holders.get(id(n)), n


def _draws(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Call) and _DRAWS.search(ast.unparse(n.func)) for n in ast.walk(node)
    )


def _reduces(node: ast.AST) -> bool:
    return any(
        isinstance(n, ast.Call)
        and getattr(n.func, "attr", getattr(n.func, "id", "")) in _REDUCES
        and not _adds_terms(n)
        or isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult)
        for n in ast.walk(node)
    )  # fmt: skip


def _adds_terms(call: ast.Call) -> bool:
    """Whether it is Python's `sum` of a few terms, row by row: `sum(f(k) for k in range(2))`."""
    if not isinstance(call.func, ast.Name) or call.func.id != "sum" or not call.args:
        return False
    given = call.args[0]
    if isinstance(given, (ast.Tuple, ast.List)):
        return True
    return isinstance(given, (ast.GeneratorExp, ast.ListComp)) and all(
        isinstance(g.iter, (ast.Tuple, ast.List))
        or isinstance(g.iter, ast.Call)
        and ast.unparse(g.iter.func) == "range"
        and all(isinstance(a, ast.Constant) for a in g.iter.args)
        for g in given.generators
    )


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        yield statement
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []))


def _one_by_one(value: ast.expr, count: int) -> list[ast.expr]:
    """What each part gets of `a, b = (f(x) for x in (first, second))`."""
    if not isinstance(value, (ast.GeneratorExp, ast.ListComp)) or len(value.generators) != 1:
        return []
    over, target = value.generators[0].iter, value.generators[0].target
    if not isinstance(over, (ast.Tuple, ast.List)) or not isinstance(target, ast.Name):
        return []

    parts = over.elts if len(over.elts) == count else []
    return [_Put(target.id, part).visit(copy.deepcopy(value.elt)) for part in parts]


class _Put(ast.NodeTransformer):
    """An expression in the place of a name."""

    def __init__(self, name: str, given: ast.expr) -> None:
        self.name = name
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Each use of the name."""
        return self.given if node.id == self.name else node


def _gives(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """(name, expression) of what a statement gives a value: `x = ...`, `x[i] = ...`,
    `for x in ...`, `scaler.fit(x, y)`.
    """
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            values: Any = [statement.value]
            parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
            if (
                len(parts) > 1
                and isinstance(statement.value, ast.Tuple)
                and len(statement.value.elts) == len(parts)
            ):
                values = statement.value.elts
            elif len(parts) > 1:
                values = _one_by_one(statement.value, len(parts)) or values
            for k, part in enumerate(parts):
                column = (
                    isinstance(part, ast.Subscript)
                    and isinstance(part.slice, ast.Constant)
                    and isinstance(part.slice.value, str)
                )
                held = part if column or not isinstance(part, ast.Subscript) else part.value
                yield ast.unparse(held), values[k if len(values) > 1 else 0]
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)) and statement.value is not None:
        target = statement.target
        yield (
            ast.unparse(target.value if isinstance(target, ast.Subscript) else target),
            statement.value,
        )
    elif isinstance(statement, ast.For):
        for n in ast.walk(statement.target):
            if isinstance(n, ast.Name):
                yield n.id, statement.iter
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr in ("fit", "partial_fit"):
            yield ast.unparse(function.value), statement.value
