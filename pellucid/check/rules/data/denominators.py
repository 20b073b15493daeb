"""Counts of right answers that are divided by a number of other things than were counted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ...events import VIEWS, Batch, LoaderInfo, Op, lineage
from ...rule import Rule
from ..source.places import Place, tree

_COMPARES = frozenset("eq ne gt ge lt le isclose".split())
_LOGICAL = VIEWS | frozenset("logical_and logical_or logical_not bitwise_and bitwise_not".split())
_WRAPPERS = frozenset("tqdm enumerate iter".split())
_NUMBERS = frozenset("item float int double cpu detach numpy tolist to round".split())
_LOOPS = 256
_Loop = ast.For | ast.comprehension


class _Sizes:
    """How long a loader is, which may be gone in the end."""

    __slots__ = ("batch_size", "batches", "rows")

    def __init__(self, info: LoaderInfo) -> None:
        self.batch_size = info.batch_size
        self.batches = _length(info.loader)
        self.rows = _length(info.dataset)


class _Pass:
    """One pass of a loader, as a loop at a line goes through it: batches, and by place of a sum
    over comparisons [how many there were, rows, elements].
    """

    __slots__ = ("batches", "counts", "sizes")

    def __init__(self, sizes: _Sizes) -> None:
        self.sizes = sizes
        self.batches = 0
        self.counts: dict[int, list[int]] = {}


class AccuracyDenominator(Rule):
    """A sum of right answers over all batches is divided by the number of batches, or by a number
    of rows that were never counted.
    """

    slug = "accuracy-denominator"
    id = "PL920"
    severity = "error"
    summary = (
        "a count of correct predictions is divided by something else than the number of predictions"
    )
    ops = ("sum",)

    def __init__(self) -> None:
        # by place of a loop and number of its loader: the last pass
        self._passes: dict[tuple[str, int, int], _Pass] = {}
        self._whole: dict[tuple[str, int, int], _Pass] = {}
        self._now: tuple[str, int, int] | None = None

    def on_batch(self, event: Batch) -> None:
        """A loop goes on, or begins a pass."""
        self._now = None
        if event.site is None:
            return
        key = (*event.site.key, event.loader.number)
        if event.position == 0 and (key in self._passes or len(self._passes) < _LOOPS):
            self._passes[key] = _Pass(_Sizes(event.loader))
        held = self._passes.get(key)
        if held is not None:
            held.batches += 1
            self._now = key

    def on_op(self, op: Op) -> None:
        """A sum over comparisons, which is a count."""
        held = self._passes.get(self._now) if self._now is not None else None
        if held is None or op.site is None or not op.inputs or op.output is None:
            return
        counted, out = op.inputs[0], op.output
        if out.numel != 1 or not counted.ndim or op.site.file != self._now[0]:
            return
        if counted.dtype != "bool" and not any(
            o.name in _COMPARES for o in lineage(counted, _LOGICAL, 12)
        ):
            return
        found = held.counts.setdefault(op.site.line, [0, 0, 0])
        found[0] += 1
        found[1] += counted.shape[0]
        found[2] += counted.numel
        if found[0] == held.batches == held.sizes.batches:
            self._whole[self._now] = held

    def finish(self) -> None:
        """Look up in the source what the counts are divided by."""
        for (file, line, _), held in self._whole.items():
            root = tree(file)
            if root is None:
                continue
            for scope, loop, node in _loops(root):
                if not loop.iter.lineno <= line <= (loop.iter.end_lineno or 0):
                    continue
                names = _Names(root, scope, {ast.unparse(_iterated(loop.iter)): held.sizes})
                names.held |= self._others(file, root, scope, names.held)
                for at, (times, rows, elements) in held.counts.items():
                    if times == held.batches:
                        self._judge(Place(file, at), scope, node, names, {rows, elements})

    def _others(self, file: str, root: Any, scope: Any, own: dict[str, Any]) -> dict[str, Any]:
        """Loaders of other loops of the file, by the module's name for them."""
        found: dict[str, Any] = {}
        local = _bound(scope) if scope is not root else set()
        for (other, line, _), held in self._passes.items():
            for _, loop, _ in _loops(root) if other == file else ():
                name = ast.unparse(_iterated(loop.iter))
                if (
                    loop.iter.lineno <= line <= (loop.iter.end_lineno or 0)
                    and name.isidentifier()
                    and name not in own
                    and name not in local
                ):
                    # one name for several loaders says nothing
                    found[name] = (
                        None if found.get(name, held.sizes) is not held.sizes else held.sizes
                    )
        return {name: sizes for name, sizes in found.items() if sizes is not None}

    def _judge(self, at: Place, scope: Any, loop: Any, names: _Names, right: set[int]) -> None:
        for count in _counts_of(loop, at.line):
            for division, text in _divisions(scope, count):
                number = names.value(division.right)
                if number is None or number in right:
                    continue
                below = ast.unparse(division.right)
                total = max(right) if len(right) > 1 and number > max(right) else min(right)
                batches = names.batches
                what = "the number of batches" if number == batches else f"{number}"
                whole = next(iter(names.held.values())).rows
                self.report(
                    Place(at.file, division.lineno),
                    f"{text} counts the correct ones of {total} predictions, but is divided by `{below}`, which is "
                    f"{what}{f' ({number})' if number == batches else ''}.",
                    evidence={"predictions": total, "divided_by": number, "counted_at": str(at)},
                    fix="divide by the rows that were counted: "
                    + (
                        f"`len({next(iter(names.held))}.dataset)`"
                        if whole == total
                        else "`total += len(y)` beside the sum"
                    ),
                )


class _Names:
    """What an expression of loaders is: `len(loader)`, `loader.batch_size`, `len(loader.dataset)`."""

    def __init__(self, root: Any, scope: Any, held: dict[str, _Sizes]) -> None:
        self.root, self.scope, self.held = root, scope, held
        self.batches = next(iter(held.values())).batches

    def value(self, node: ast.expr, depth: int = 4) -> int | None:
        """The number, None where it cannot be told."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int and depth < 4 else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            left, right = self.value(node.left, depth - 1), self.value(node.right, depth - 1)
            return None if left is None or right is None else left * right
        text = ast.unparse(node)
        for name, sizes in self.held.items():
            if text == f"len({name})":
                return sizes.batches
            if text == f"{name}.batch_size":
                return sizes.batch_size
            if text == f"len({name}.dataset)":
                return sizes.rows
        if not isinstance(node, ast.Name) or not depth:
            return None
        if self.scope is not self.root and node.id in _bound(self.scope):
            return self._assigned(self.scope, node.id, depth)
        return self._assigned(self.root, node.id, depth)

    def _assigned(self, scope: Any, name: str, depth: int) -> int | None:
        """The value of a name that a scope assigns once."""
        stored = [
            n
            for n in ast.walk(scope)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        ]
        made = [
            n.value
            for n in ast.walk(scope)
            if isinstance(n, ast.Assign)
            and len(n.targets) == 1
            and isinstance(n.targets[0], ast.Name)
            and n.targets[0].id == name
        ]
        return self.value(made[0], depth - 1) if len(stored) == len(made) == 1 else None


def _length(thing: Any) -> int | None:
    try:
        return len(thing)
    except (TypeError, NotImplementedError):
        return None  # an iterable data set


def _iterated(node: ast.expr) -> ast.expr:
    """What is gone through, without `enumerate` and `tqdm` around it."""
    while isinstance(node, ast.Call) and node.args:
        if getattr(node.func, "attr", getattr(node.func, "id", "")) not in _WRAPPERS:
            break
        node = node.args[0]
    return node


def _loops(root: Any) -> Iterator[tuple[Any, _Loop, Any]]:
    """(scope, loop or part of a comprehension, the whole node) of a file."""
    waiting = [(root, root)]
    while waiting:
        scope, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.For):
                yield scope, child, child
            elif isinstance(child, (ast.GeneratorExp, ast.ListComp)):
                yield scope, child.generators[0], child
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            waiting.append((child if function else scope, child))


def _bound(scope: Any) -> set[str]:
    """The names that a function takes or assigns."""
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set()
    given = scope.args
    names = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    return names | {
        n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _number(node: ast.expr) -> ast.expr:
    """An expression without what only makes a number of it: `.item()`, `int(...)`."""
    while isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in _NUMBERS:
            break
        if isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            break
    return node


def _is_count(node: ast.expr, line: int) -> bool:
    """Whether an expression is the sum at a line, as it is."""
    node = _number(node)
    name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
    return name == "sum" and node.lineno <= line <= (node.end_lineno or 0)


def _counts_of(loop: Any, line: int) -> list[Any]:
    """What holds the sum over all batches of the counts at a line: variables, or the expression
    `sum(... for ... in loader)` itself.
    """
    if isinstance(loop, (ast.GeneratorExp, ast.ListComp)):
        return [loop] if _is_count(loop.elt, line) else []
    single: set[str] = set()
    found = []
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and _is_count(node.value, line):
            single |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    for node in ast.walk(loop):
        if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
            continue
        value = _number(node.value)
        if _is_count(node.value, line) or isinstance(value, ast.Name) and value.id in single:
            found.append(ast.unparse(node.target))
    return found


def _divisions(scope: Any, count: Any) -> list[tuple[ast.BinOp, str]]:
    """Where a count is divided, and how it is called."""
    text = "this sum" if isinstance(count, ast.AST) else f"`{count}`"
    names = {count} if isinstance(count, str) else set()
    if isinstance(count, ast.AST):
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and _sum_of(node.value, count):
                names |= {ast.unparse(t) for t in node.targets}
    found = []
    for node in ast.walk(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            top = node.left
            if isinstance(top, ast.BinOp) and isinstance(top.op, ast.Mult):
                top = top.right if isinstance(top.left, ast.Constant) else top.left
            top = _number(top)
            if ast.unparse(top) in names or isinstance(count, ast.AST) and _sum_of(top, count):
                found.append((node, text))
    return found


def _sum_of(node: ast.expr, count: Any) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "sum" and count in node.args
