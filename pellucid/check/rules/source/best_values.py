"""The best value of a run, and how long ago it was: kept where it should begin anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .places import walk

_STATE = re.compile(r"state_dict\(|deepcopy\(")
_MAKES = re.compile(r"\b(optim|Adam|AdamW|SGD|RMSprop)\b|make_|build_|create_")
_BEST = re.compile(r"best|min_|max_|lowest|highest", re.I)
Found = tuple[int, str, str]


def best_of_all_folds(root: ast.Module) -> Iterator[Found]:
    """`best = inf` before the loop over folds, each of which trains its own model and loads the
    best weights at its end: later folds load those of an earlier one.
    """
    for scope in (n for n in walk(root) if isinstance(n, (ast.FunctionDef, ast.Module))):
        starts = {
            name: n
            for n in scope.body
            if isinstance(n, ast.Assign)
            for t in n.targets
            for name in _names(t)
        }
        for outer in (n for n in scope.body if isinstance(n, ast.For)):
            made = [
                n
                for n in outer.body
                if isinstance(n, ast.Assign) and _MAKES.search(ast.unparse(n.value))
            ]
            if not made:
                continue
            for test in (n for n in ast.walk(outer) if isinstance(n, ast.If)):
                kept = _kept(test)
                if kept is None:
                    continue
                best, state = kept
                start = starts.get(best)
                inner = any(
                    isinstance(n, (ast.For, ast.While)) and any(i is test for i in ast.walk(n))
                    for n in ast.walk(outer)
                    if n is not outer
                )
                again = any(
                    best in _names(t)
                    for n in ast.walk(outer)
                    if isinstance(n, ast.Assign) and not any(n is i for i in ast.walk(test))
                    for t in n.targets
                )
                loads = any(
                    isinstance(n, ast.Call)
                    and getattr(n.func, "attr", "") == "load_state_dict"
                    and any(ast.unparse(a) == state for a in n.args)
                    for n in ast.walk(outer)
                )
                if (
                    start is not None
                    and inner
                    and loads
                    and not again
                    and start.lineno < outer.lineno
                ):
                    yield (
                        start.lineno,
                        (
                            f"`{best}` is set only once, before the loop at line {outer.lineno}, which trains a model in each iteration: an "
                            f"iteration that does not beat an earlier one loads the weights of that one from `{state}`."
                        ),
                        f"set `{best}` and `{state}` at the beginning of each iteration",
                    )
                    break


def patience_never_reset(root: ast.Module) -> Iterator[Found]:
    """`bad += 1` where a value is not the best and a stop when there are too many, and no
    `bad = 0` where it is.
    """
    for test in (n for n in walk(root) if isinstance(n, ast.If) and n.orelse):
        found = _compared(test)
        if found is None:
            continue
        counts = [
            n
            for part in test.orelse
            for n in ast.walk(part)
            if isinstance(n, ast.AugAssign)
            and isinstance(n.op, ast.Add)
            and isinstance(n.value, ast.Constant)
            and n.value.value == 1
        ]
        if len(counts) != 1:
            continue
        count, best = ast.unparse(counts[0].target), found
        loops: list[ast.AST] = [
            n
            for n in walk(root)
            if isinstance(n, (ast.For, ast.While)) and any(i is test for i in ast.walk(n))
        ]
        around: list[ast.AST] = loops or [
            n
            for n in walk(root)
            if isinstance(n, ast.FunctionDef) and any(i is test for i in ast.walk(n))
        ]
        if not around or not count.rpartition(".")[2].isidentifier():
            continue
        innermost = around[-1] if loops else around[0]
        if not loops and not count.startswith("self."):
            continue
        where = root if not loops else innermost
        reset = any(
            isinstance(n, ast.Assign)
            and any(count in _texts(t) for t in n.targets)
            and not (not loops and _in_init(root, n))
            for n in ast.walk(where)
        )
        stops = any(
            isinstance(n, ast.Compare)
            and isinstance(n.ops[0], (ast.Gt, ast.GtE, ast.Eq))
            and ast.unparse(n.left) == count
            for n in ast.walk(where)
        )
        line = next((n.lineno for n in test.body if best in _all_targets(n)), test.lineno)
        if stops and not reset:
            yield (
                line,
                (
                    f"`{count}` counts the epochs that do not improve `{best}`, but is not reset when one does: training stops after so many bad "
                    "epochs in total, not in a row."
                ),
                f"`{count} = 0` here",
            )


def _in_init(root: ast.Module, node: ast.AST) -> bool:
    return any(
        isinstance(f, ast.FunctionDef)
        and f.name == "__init__"
        and any(i is node for i in ast.walk(f))
        for f in walk(root)
    )


def _compared(test: ast.If) -> str | None:
    """The best value that a condition compares with and its body sets."""
    if not isinstance(test.test, ast.Compare) or not isinstance(
        test.test.ops[0], (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
    ):
        return None
    sides = [test.test.left, test.test.comparators[0]]
    names = {
        ast.unparse(n)
        for s in sides
        for n in ast.walk(s)
        if isinstance(n, (ast.Name, ast.Attribute))
    }
    stored = {name for n in test.body for name in _all_targets(n)}
    return next((n for n in sorted(names & stored) if _BEST.search(n)), None)


def _kept(test: ast.If) -> tuple[str, str] | None:
    """(best value, best state) that the body of a condition sets."""
    best = _compared(test)
    if best is None:
        return None
    for node in test.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for t, v in pairs:
                if _STATE.search(ast.unparse(v)):
                    return best, ast.unparse(t)
    return None


def _all_targets(node: ast.AST) -> set[str]:
    return {
        text
        for n in ast.walk(node)
        if isinstance(n, ast.Assign)
        for t in n.targets
        for text in _texts(t)
    }


def _texts(target: ast.AST) -> set[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return {ast.unparse(p) for p in parts}


def _names(target: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
