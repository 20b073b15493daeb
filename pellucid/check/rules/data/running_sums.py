"""Sums over the batches of a loop that are no sums, or go on from one epoch to the next."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...events import Backward, Batch, Read
from ...rule import Rule
from ..source.best_values import best_of_all_folds, patience_never_reset
from ..source.places import Place, tree, walk

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_HOW = frozenset("item float int tolist numpy array".split())


class RunningSum(Rule):
    """`correct = ...` in a loop over batches, where the others are added up with `+=`; a sum that is
    set to zero before all epochs and divided by the number of batches of one.
    """

    slug = "running-sum"
    id = "PL918"
    severity = "error"
    summary = "a sum or best value over batches or epochs starts wrongly, is never reset, or is overwritten"

    def __init__(self) -> None:
        self._loaded: set[tuple[str, int]] = set()  # lines of loops that got more than one batch
        self._above = True  # no loss was below zero
        self._reads: Counter[tuple[str, int]] = Counter()
        # by place: (step, reads) of the last reads between two steps, and how often there were some
        self._passes: dict[tuple[str, int], list[int]] = {}

    def on_batch(self, event: Batch) -> None:
        """Which loops go over several batches."""
        if event.site is not None and event.position:
            self._loaded.add(event.site.key)

    def on_backward_begin(self, event: Backward) -> None:
        """Whether losses are below zero."""
        value = event.roots[0].numpy() if self._above and event.roots else None
        if value is not None and value.size == 1 and float(value.reshape(-1)[0]) < 0:
            self._above = False

    def on_read(self, event: Read) -> None:
        """A number of a batch is read."""
        if event.how in _HOW and event.site is not None and event.value.numel == 1:
            self._reads[event.site.key] += 1
            held = self._passes.setdefault(event.site.key, [-1, 0, 0])
            held[:2] = (event.step, 1) if held[0] != event.step else (event.step, held[1] + 1)
            held[2] += held[1] == 2

    def finish(self) -> None:
        """Look at the source of the numbers that were read."""
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            lines = {line for name, line in self._reads if name == file}
            if root is not None and self.step:
                self._only_last(file, root)
                self._best(file, root)
                for find in (best_of_all_folds, patience_never_reset):
                    for line, message, fix in find(root):
                        self.report(Place(file, line), message, fix=fix)
            if root is None or not lines:
                continue
            for scope in [root, *(n for n in walk(root) if isinstance(n, _SCOPES[:2]))]:
                self._overwritten(file, scope, lines)
                self._going_on(file, scope, lines)
            self._never_reset(file, root)

    def _only_last(self, file: str, root: ast.Module) -> None:
        """`accuracy = ...` in a loop over the batches of an evaluation, read after the loop."""
        for scope in (n for n in walk(root) if isinstance(n, _SCOPES[:2])):
            for loop, block in _loops(scope):
                if (file, loop.lineno) not in self._loaded or _leaves(loop):
                    continue
                after = [n for n in block if n.lineno > (loop.end_lineno or 0)]
                for node in _inside(loop.body):
                    name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
                    if not _METRIC.search(name) or not name.isidentifier():
                        continue
                    if _uses(loop, name) or _stores(loop, name) != 1:
                        continue
                    if any(isinstance(n, ast.Return) and name in _names(n) for n in after):
                        self.report(
                            Place(file, node.lineno),
                            f"`{name}` is assigned again for each batch and returned after the loop, so it only describes the last batch.",
                            evidence={"loop_at": str(Place(file, loop.lineno))},
                            fix="add up over the batches: `correct += (predicted == y).sum().item()`, and divide by the number of rows",
                        )

    def _best(self, file: str, root: ast.Module) -> None:
        """`best_loss = 0.0`, and what is below it is kept: nothing is."""
        for test in (n for n in walk(root) if isinstance(n, ast.If)):
            found = _kept_if(test)
            if found is None or not self._above:
                continue
            best, wanted = found
            starts = [
                n
                for n in walk(root)
                if isinstance(n, ast.Assign)
                and ast.unparse(n.targets[0]) == best
                and not any(n is inner for inner in ast.walk(test))
            ]
            for start in starts if len(starts) == 1 else ():
                value = ast.unparse(start.value)
                if value in _WORST[wanted]:
                    self.report(
                        Place(file, start.lineno),
                        f"`{best}` starts at {value} and is only replaced by {'lower' if wanted == '<' else 'higher'} values, which never occur: "
                        "the best model is never kept.",
                        evidence={"compared_at": str(Place(file, test.lineno))},
                        fix=f'`{best} = float("{"inf" if wanted == "<" else "-inf"}")`',
                    )

    def _never_reset(self, file: str, root: ast.Module) -> None:
        """An object that counts over all epochs, and has a method to begin anew that nobody calls."""
        for meter in (n for n in walk(root) if isinstance(n, ast.ClassDef)):
            found = _counts(meter)
            if found is None:
                continue
            again, counting, line = found
            if self._passes.get((file, line), [0, 0, 0])[2] < 2 or not _kept(root, meter):
                continue
            if any(
                getattr(c.func, "attr", "") == again
                for c in _calls(root)
                if c.lineno not in _lines(meter)
            ):
                continue
            uses = [
                c.lineno
                for loop in walk(root)
                if isinstance(loop, ast.For)
                for c in _calls(loop)
                if getattr(c.func, "attr", "") == counting and c.lineno not in _lines(meter)
            ]
            if len(set(uses)) == 1:
                self.report(
                    Place(file, uses[0]),
                    f"this adds to a {meter.name} that is never reset, because nothing calls its `{again}`: it still includes the earlier epochs.",
                    evidence={"counted_at": str(Place(file, line))},
                    fix=f"call `{again}()` before the loop over the batches",
                )

    def _overwritten(self, file: str, scope: Any, lines: set[int]) -> None:
        for loop, block in _loops(scope):
            for node in _inside(loop.body):
                if not isinstance(node, ast.Assign) or not _read_at(node, lines, self._reads, file):
                    continue
                target = node.targets[0]
                if len(node.targets) != 1 or not isinstance(target, ast.Name):
                    continue
                name = target.id
                if _uses(loop, name) or _stores(loop, name) != 1:
                    continue
                if not any(_zero(n, name) for n in block if n.lineno < loop.lineno):
                    continue
                after = [n for n in block if n.lineno > (loop.end_lineno or 0)]
                added = {
                    ast.unparse(n.target)
                    for n in ast.walk(loop)
                    if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)
                }
                below = [ast.unparse(b) for b in _divisors(after, name)]
                if any(b in added or "len(" in b for b in below):
                    self.report(
                        Place(file, node.lineno),
                        f"`{name}` starts at zero and is assigned again for each batch. After the loop it is the number of the last batch, but it "
                        f"is divided by `{below[0]}`, which counts all of them.",
                        evidence={"divided_by": below[0]},
                        fix=f"`{name} += ...`",
                    )

    def _going_on(self, file: str, scope: Any, lines: set[int]) -> None:
        for outer, block in _loops(scope):
            for inner in [n for n in outer.body if isinstance(n, ast.For)]:
                for node in _inside(inner.body):
                    if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
                        continue
                    name = ast.unparse(node.target)
                    if not isinstance(node.target, ast.Name) or not _read_at(
                        node, lines, self._reads, file
                    ):
                        continue
                    begun = [n for n in block if n.lineno < outer.lineno and _zero(n, name)]
                    if not begun or _stores(outer, name) != 1:
                        continue
                    after = [n for n in outer.body if n.lineno > (inner.end_lineno or 0)]
                    changing = {
                        n.id
                        for n in ast.walk(outer)
                        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                    }
                    below = _divisors(after, name)
                    if below and not any(
                        isinstance(n, ast.Name) and n.id in changing
                        for b in below
                        for n in ast.walk(b)
                    ):
                        self.report(
                            Place(file, begun[-1].lineno),
                            f"`{name}` is set to zero once, before all epochs, but divided by `{ast.unparse(below[0])}` in each of them: the sum "
                            "still includes the earlier epochs.",
                            evidence={"divided_at": below[0].lineno},
                            fix=f"`{name} = 0` at the beginning of each epoch",
                        )


_METRIC = re.compile(r"acc|loss|score|err|f1|iou|dice|metric|correct|mse|mae|auc", re.I)
_LOSS = re.compile(r"(\b|_)(loss|losses|mse|rmse|mae|error|perplexity)(\b|_)", re.I)
_SCORE = re.compile(r"(\b|_)(acc|accuracy|f1|auc|iou|dice)(\b|_)", re.I)
_WORST = {
    "<": ("0", "0.0", "-1", "-1.0", "float('-inf')", "-float('inf')", "-math.inf", "-np.inf"),
    ">": ("1", "1.0", "100", "100.0", "float('inf')", "math.inf", "np.inf", "torch.inf"),
}


def _kept_if(test: ast.If) -> tuple[str, str] | None:
    """(name, "<" or ">") of `if loss < best: best = loss`, where what is better is certain."""
    compared = test.test
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return None
    sides = [ast.unparse(compared.left), ast.unparse(compared.comparators[0])]
    sign = {ast.Lt: "<", ast.LtE: "<", ast.Gt: ">", ast.GtE: ">"}.get(type(compared.ops[0]))
    for now, best, way in ((*sides, sign), (*sides[::-1], {"<": ">", ">": "<"}.get(sign or ""))):
        kept = any(
            isinstance(n, ast.Assign)
            and ast.unparse(n.targets[0]) == best
            and ast.unparse(n.value) == now
            for n in test.body
        )
        if not kept or way is None:
            continue
        loss, score = bool(_LOSS.search(now)), bool(_SCORE.search(now))
        if loss != score and loss == (way == "<"):
            return best, way
    return None


def _leaves(loop: ast.For) -> bool:
    """Whether a loop ends early, or trains."""
    return any(
        isinstance(n, (ast.Break, ast.Return, ast.Yield))
        or isinstance(n, ast.Attribute)
        and n.attr in ("backward", "step")
        for n in ast.walk(loop)
    )


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _calls(node: ast.AST) -> list[ast.Call]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Call)]


def _lines(node: ast.ClassDef) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _counts(meter: ast.ClassDef) -> tuple[str, str, int] | None:
    """(method that sets counts to zero, method that adds to them, line where it does) of a class that
    divides one of them by another.
    """
    methods = [n for n in meter.body if isinstance(n, ast.FunctionDef)]
    for again in (m for m in methods if m.name.startswith(("reset", "clear"))):
        zero = {
            ast.unparse(t)
            for n in ast.walk(again)
            if isinstance(n, ast.Assign)
            and isinstance(n.value, ast.Constant)
            and n.value.value == 0
            for t in n.targets
        }
        divided = any(
            zero & {ast.unparse(n) for n in ast.walk(d.left)}
            and zero & {ast.unparse(n) for n in ast.walk(d.right)}
            for d in ast.walk(meter)
            if isinstance(d, ast.BinOp) and isinstance(d.op, ast.Div)
        )
        for method in methods if divided else ():
            added = [
                n.lineno
                for n in method.body
                if isinstance(n, ast.AugAssign)
                and isinstance(n.op, ast.Add)
                and ast.unparse(n.target) in zero
            ]
            if added:
                return again.name, method.name, added[0]
    return None


def _kept(root: ast.Module, meter: ast.ClassDef) -> bool:
    """Whether the only object of a class is made once, before all loops: by the file, by `main` or
    by the object that has it.
    """
    made = [c for c in _calls(root) if getattr(c.func, "id", "") == meter.name]
    inside = [
        c
        for n in walk(root)
        if isinstance(n, (ast.For, ast.While))
        or isinstance(n, ast.FunctionDef)
        and n.name not in ("main", "__init__")
        for c in _calls(n)
    ]
    return len(made) == 1 and not any(c is made[0] for c in inside)


def _loops(scope: Any) -> Iterator[tuple[ast.For, list[Any]]]:
    """The loops of a scope, each with the statements of the block that it stands in; what is under
    a `with` stands in the block around it.
    """
    waiting = [(scope.body, scope.body)]
    while waiting:
        block, around = waiting.pop()
        for node in block:
            if isinstance(node, _SCOPES):
                continue
            if isinstance(node, ast.For):
                yield node, [*around, *(n for n in block if block is not around)]
            for name in ("body", "orelse", "finalbody"):
                part = getattr(node, name, None)
                if isinstance(part, list) and part:
                    waiting.append((part, around if isinstance(node, ast.With) else part))


def _inside(block: list[Any]) -> Iterator[Any]:
    """The statements of a block, those under `with` and `if` too, without inner loops."""
    for node in block:
        yield node
        if isinstance(node, (ast.With, ast.If)):
            yield from _inside([*node.body, *getattr(node, "orelse", [])])


def _read_at(node: Any, lines: set[int], reads: Counter[tuple[str, int]], file: str) -> bool:
    return any(
        line in lines and reads[file, line] > 1
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def _uses(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        for n in ast.walk(loop)
    )


def _stores(loop: ast.For, name: str) -> int:
    return sum(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        for n in ast.walk(loop)
    )


def _zero(node: Any, name: str) -> bool:
    """Whether a statement sets a name to zero."""
    if not isinstance(node, ast.Assign):
        return False
    for target in node.targets:
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=False))
        for part, value in pairs:
            if isinstance(part, ast.Name) and part.id == name:
                return isinstance(value, ast.Constant) and value.value == 0
    return False


def _divisors(block: list[Any], name: str) -> list[ast.expr]:
    """What a name is divided by in a block."""
    return [
        n.right
        for statement in block
        for n in ast.walk(statement)
        if isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Div)
        and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(n.left))
    ]
