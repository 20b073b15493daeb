"""Find in the source the means of batches that are added up and divided by a number of rows."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from ..source.places import Place, function_around, tree
from .means import statement_at

_ROWS = re.compile(r"len\(|\.(size\(0\)|shape\[0\]|numel\(\))$|^(n|bs|batch_?size|rows)$")
_CONVERTS = ("item", "detach", "cpu", "float", "numpy")


def added_as_they_are(file: str, line: int, value_of: Any) -> Place | None:
    """The statement that adds up the mean of a batch, made on a line, as it is, when rows are
    counted beside it and their number divides the sum. `value_of` gives the value of an expression.
    """
    scope: Any = function_around(file, line) or tree(file)
    statement = statement_at(scope, line) if scope is not None else None
    if statement is None:
        return None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _of_a_meter(statement.value, value_of)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id  # `value = loss.item()`, and then `total += value`
        added = [n for n in _sums(scope) if ast.unparse(n.value) == name and n.lineno > line]
        if not added or not _plain(statement.value):
            return None
        return _divided(file, scope, added[0]) or _by_length(file, scope, added[0], value_of)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        if not _plain(statement.value):
            return None
        return _divided(file, scope, statement) or _by_length(file, scope, statement, value_of)
    return None


def _sums(scope: Any) -> list[ast.AugAssign]:
    return [
        n for n in ast.walk(scope) if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)
    ]


def _plain(value: ast.AST) -> bool:
    """Whether an expression is a mean as it is: `loss.item()`, `float(loss)`."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in _CONVERTS:
            value = value.func.value
        elif isinstance(value.func, ast.Name) and value.func.id == "float" and value.args:
            value = value.args[0]
        else:
            return True  # the loss itself: `criterion(model(x), y)`
    return isinstance(value, (ast.Name, ast.Attribute))


def _divided(file: str, scope: Any, added: ast.AugAssign) -> Place | None:
    """The statement, when its sum is divided by rows that are counted in the same block."""
    block = next(
        (
            body
            for n in ast.walk(scope)
            for body in (getattr(n, "body", None), getattr(n, "orelse", None))
            if isinstance(body, list) and added in body
        ),
        [],
    )
    rows = {
        ast.unparse(n.target)
        for n in block
        if isinstance(n, ast.AugAssign) and n is not added and _ROWS.search(ast.unparse(n.value))
    }
    total = ast.unparse(added.target)
    for n in ast.walk(scope):
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and n.lineno > added.lineno:
            below = n.right
            if isinstance(below, ast.Call) and ast.unparse(below.func) == "max" and below.args:
                below = below.args[0]
            if ast.unparse(n.left) == total and ast.unparse(below) in rows:
                return Place(file, added.lineno)
    return None


def _by_length(file: str, scope: Any, added: ast.AugAssign, value_of: Any) -> Place | None:
    """The statement, when its sum is divided by the length of a data set, and the loop around it
    goes over the batches of a loader of that data set.
    """
    loops = [n for n in ast.walk(scope) if isinstance(n, ast.For) and added in ast.walk(n)]
    if not loops:
        return None
    over: Any = max(loops, key=lambda n: n.lineno).iter
    while isinstance(over, ast.Call) and over.args:  # enumerate(loader), tqdm(loader)
        over = over.args[0]
    data = getattr(value_of(over), "dataset", None)
    total = ast.unparse(added.target)
    for n in ast.walk(scope):
        if not isinstance(n, ast.BinOp) or not isinstance(n.op, ast.Div):
            continue
        below = n.right
        if not isinstance(below, ast.Call) or ast.unparse(below.func) != "len" or not below.args:
            continue
        whose = below.args[0]
        given = value_of(whose)
        if given is None and isinstance(whose, ast.Attribute) and whose.attr == "dataset":
            given = getattr(value_of(whose.value), "dataset", None)
        if data is not None and given is data and ast.unparse(n.left) == total:
            return Place(file, added.lineno)
    return None


def _of_a_meter(call: ast.Call, value_of: Any) -> Place | None:
    """`meter.update(loss.item(), len(y))`, of a class that adds the first to its sum as it is, and
    the second to its count.
    """
    given = [*call.args, *(k.value for k in call.keywords)]
    if not isinstance(call.func, ast.Attribute) or len(given) != 2 or not _plain(given[0]):
        return None
    if isinstance(given[1], ast.Constant):
        return None
    function = getattr(type(value_of(call.func.value)), call.func.attr, None)
    code = getattr(inspect.unwrap(function) if function is not None else None, "__code__", None)
    if code is None or code.co_argcount != 3:
        return None
    node = function_around(code.co_filename, code.co_firstlineno, code.co_firstlineno)
    _, value, count = code.co_varnames[:3]
    sums = _sums(node) if node is not None else []
    added = [n for n in sums if ast.unparse(n.value) == value]
    counted = [ast.unparse(n.target) for n in sums if ast.unparse(n.value) == count]
    whole = tree(code.co_filename)
    divides = [
        n for n in ast.walk(whole)
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)
        and any(c in ast.unparse(n.right) for c in counted)
        and any(ast.unparse(n.left) == ast.unparse(a.target) for a in added)
    ] if whole is not None else []  # fmt: skip
    return Place(code.co_filename, added[0].lineno) if added and divides else None
