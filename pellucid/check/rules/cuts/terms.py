"""Terms of a loss without a gradient, and derivatives that are zero or missing while other
gradients arrive.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....core.primitive import PRIMITIVES
from ...events import Op, Read, Site, Value, ancestors
from ..source.origins import value_at
from ..source.places import Place, tree, walk

FLAT = frozenset(name for name, op in PRIMITIVES.items() if "steps" in op.traits) - {"sample"}
"""Operations whose derivative is zero everywhere; drawn samples have rules of their own."""

_VISITS = 3  # at which a number must have been the same multiple of what was read


def is_hot(value: Value) -> bool:
    """Whether gradients can flow into a value and on."""
    made = value.producer
    return value.requires_grad and (
        not value.is_leaf
        or made is None
        or made.inplace
        and made.name not in ("requires_grad", "data")
    )


def cold_terms(root: Value) -> Iterator[tuple[Op, Any]]:
    """(operation, operand) of what is added to a loss and has no graph: tensors of one element and
    Python numbers.
    """
    waiting: list[Value] = [root]
    seen: set[int] = set()
    while waiting and len(seen) < 200:
        op = waiting.pop().producer
        if op is None or op.number in seen:
            continue
        seen.add(op.number)
        if op.name in ("add", "sub"):
            for side in (op.args.get("input"), op.args.get("other")):
                if isinstance(side, Value):
                    if side.numel == 1 and is_hot(side):
                        waiting.append(side)
                    elif side.numel == 1 and side.is_floating_point and side.producer is not None:
                        yield op, side
                elif isinstance(side, float):
                    yield op, side
        elif op.name in ("mul", "div", "sum", "mean", "stack", "neg", "reshape", "squeeze"):
            for v in op.inputs:
                if is_hot(v) and (v.numel == 1 or op.name in ("sum", "mean") and v.numel <= 16):
                    waiting.append(v)
                elif (
                    op.name == "stack"
                    and v.numel == 1
                    and v.is_floating_point
                    and v.producer is not None
                    and not v.requires_grad
                ):
                    yield op, v


def is_loss(term: Value) -> bool:
    """Whether a term is the result of one of the library's losses, times a number perhaps."""
    made = term.producer
    while made is not None and made.name in ("mul", "div") and len(made.inputs) == 1:
        made = made.inputs[0].producer
    return made is not None and (made.name.endswith("_loss") or made.name in _OTHER_LOSSES)


_OTHER_LOSSES = frozenset(
    "cross_entropy binary_cross_entropy binary_cross_entropy_with_logits kl_div".split()
)


def cut_in(term: Value) -> tuple[Op, Value] | None:
    """The last operation before a term that got values with a graph and gave one without, and the
    value that it got.
    """
    for op in sorted(ancestors([term], limit=2000), key=lambda o: -o.number):
        out = op.output
        if op.name == "grad":
            return None
        if out is not None and not out.requires_grad:
            for v in op.inputs:
                if is_hot(v):
                    return op, v
    return None


class NumbersRead:
    """Numbers that values with a graph became in this step, by place, to be found again as terms of
    a loss.
    """

    def __init__(self) -> None:
        self._sums: dict[
            Site, tuple[int, Any, Read]
        ] = {}  # (step, sums of what numbers a reader may make of an array, the last read)
        self._ratios: dict[tuple[Site, Site, int], list[tuple[float, float]]] = {}

    def add(self, read: Read) -> None:
        """A value is read."""
        if read.site is None or read.step > 64:
            return
        array = read.value.numpy()
        if array is None or not array.size or array.dtype.kind != "f":
            return
        with np.errstate(all="ignore"):
            flat = array.reshape(-1).astype(np.float64)
            found = np.array(
                [
                    flat.sum(),
                    np.abs(flat).sum(),
                    flat @ flat,
                    math.sqrt(flat @ flat),
                    flat.mean(),
                    (flat @ flat) / flat.size,
                    np.abs(flat).mean(),
                    flat.max(),
                ]
            )
        held = self._sums.get(read.site)
        total = found if held is None or held[0] != read.step else held[1] + found
        self._sums[read.site] = read.step, total, read

    def source(self, op: Op, number: float, step: int) -> Read | None:
        """The read whose result a number is a multiple of, the same one in several steps."""
        if op.site is None:
            return None
        for site, (at, sums, read) in self._sums.items():
            if at != step or read.number > op.number:
                continue
            for k, total in enumerate(sums.tolist()):
                if not math.isfinite(total) or total == 0 or number == 0:
                    continue
                seen = self._ratios.setdefault((op.site, site, k), [])
                if len(seen) < 8:
                    seen.append((number / total, total))
                ratios, totals = [r for r, _ in seen], [t for _, t in seen]
                varies = max(totals) - min(totals) > 1e-4 * max(abs(t) for t in totals)
                if (
                    len(seen) >= _VISITS
                    and varies
                    and max(ratios) - min(ratios) <= 1e-5 * abs(ratios[0])
                ):
                    return read
        return None


# ---- functions of the user's own -------------------------------------------------------------------------------------
def arguments_of(op: Op) -> list[Any]:
    """The arguments of a custom function in their order."""
    found: list[Any] = []
    for name, value in op.args.items():
        found += value if name == "rest" and isinstance(value, (tuple, list)) else [value]
    return found


def returned_at(kind: Any, index: int) -> Any:
    """The line of a custom function's `backward` that returns None for an argument, else its last
    return.
    """
    function = inspect.unwrap(vars(kind).get("backward", kind.backward))
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    root = tree(code.co_filename) if code is not None else None
    best = None
    for node in walk(root) if root is not None and code is not None else ():
        if (
            isinstance(node, ast.FunctionDef)
            and node.name == "backward"
            and abs(node.lineno - code.co_firstlineno) <= 4
        ):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    parts = (
                        inner.value.elts if isinstance(inner.value, ast.Tuple) else [inner.value]
                    )
                    if index < len(parts) and ast.unparse(parts[index]) == "None":
                        return Place(code.co_filename, inner.lineno)
                    best = Place(code.co_filename, inner.lineno)
    return best


# ---- where gradients were switched off -------------------------------------------------------------------------------
def _switches_off(node: ast.AST) -> bool:
    text = ast.unparse(node)
    return (
        "no_grad" in text
        or "inference_mode" in text
        or "set_grad_enabled(" in text
        and "True" not in text
    )


def _decided(file: str, root: ast.Module, line: int) -> Place | None:
    """Where the flag of `with torch.set_grad_enabled(flag):` is written."""
    for node in walk(root):
        if (
            isinstance(node, ast.Call)
            and node.lineno == line
            and node.args
            and "set_grad_enabled" in ast.unparse(node.func)
        ):
            return value_at(file, root, node.args[0])
    return None


def off_at(file: str, line: int, function: str, depth: int = 3) -> Any:
    """The line that switches gradients off for a place: the `with` or the decorator around it, or
    around a call of its function.
    """
    root = tree(file)
    if root is None:
        return None
    found: list[tuple[int, int]] = []  # (line of the block's begin, line to show)
    for node in walk(root):
        if isinstance(node, (ast.With, ast.AsyncWith)) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            found += [
                (node.lineno, node.lineno)
                for item in node.items
                if _switches_off(item.context_expr)
            ]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            found += [
                (node.lineno, d.lineno)
                for d in node.decorator_list
                if _switches_off(d) or _wraps_without(root, d)
            ]
    if found:
        shown = max(found)[1]
        return _decided(file, root, shown) or Place(file, shown)
    if not depth or function == "<module>":
        return switched_off(root, file, line)
    for node in walk(root):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", None)) == function
            and node.lineno != line
        ):
            within = next((f.name for f in _functions(root, node.lineno)), "<module>")
            place = off_at(file, node.lineno, within, depth - 1)
            if place is not None:
                return place
    return switched_off(root, file, line)


def _wraps_without(root: ast.AST, decorator: ast.expr) -> bool:
    """Whether a decorator of the file's own calls what it decorates without gradients."""
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    maker = next(
        (
            n
            for n in walk(root)
            if isinstance(n, ast.FunctionDef)
            and isinstance(name, ast.Name)
            and n.name == name.id
            and n.args.args
        ),
        None,
    )
    if maker is None:
        return False
    return any(
        isinstance(block, ast.With)
        and any(_switches_off(item.context_expr) for item in block.items)
        and any(isinstance(n, ast.Call) and _called_inside(maker, n) for n in ast.walk(block))
        for block in ast.walk(maker)
    )


def _called_inside(maker: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a call is of an argument that the maker of a decorator, or a function in it, was
    given.
    """
    given = {a.arg for f in ast.walk(maker) if isinstance(f, ast.FunctionDef) for a in f.args.args}
    return isinstance(call.func, ast.Name) and call.func.id in given


def _functions(root: ast.AST, line: int) -> list[ast.FunctionDef]:
    around = [
        n
        for n in walk(root)
        if isinstance(n, ast.FunctionDef) and n.lineno <= line <= (n.end_lineno or 0)
    ]
    return sorted(around, key=lambda n: -n.lineno)


def switched_off(root: ast.AST, file: str, line: int) -> Any:
    """The statement `torch.set_grad_enabled(False)`, where there is one."""
    lines = [
        n.lineno
        for n in walk(root)
        if isinstance(n, ast.Expr) and "set_grad_enabled(" in ast.unparse(n.value)
    ]
    before = [n for n in lines if n <= line]
    return Place(file, max(before)) if before else Place(file, lines[0]) if lines else None
