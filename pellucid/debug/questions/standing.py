"""Why what ran without an error does not do its work: weights that stand still although their
gradients are fine, a function that is compiled again and again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ..._living import with_attributes
from ...api.messages.written import tree, walk
from ...core.source import Line, describe
from ..watching import Watch
from .changes import hidden
from .places import assigned_in_class, line_of, returned_by
from .result import Explanation


def stands_still(optimizer: Any, name: str, notes: Watch | None) -> Explanation | None:
    """Why an optimizer does not move its parameters, as far as its steps were watched."""
    if notes is None or not notes.active and not notes.ended:
        return None
    held = [p for group in optimizer.param_groups for p in group["params"]]
    got = [p for p in held if "accumulated" in notes.about(p)]
    if not got:
        return None
    steps, idle = notes.steps_of.get(id(optimizer), (0, 0))
    files = _files(got, notes)
    if not steps:
        where = _uncalled(files) or describe(notes.about(got[-1])["accumulated"])
        missed = _never_reached(files)
        if missed is not None:
            return Explanation(
                "no-step",
                f"the parameters of {name} have gradients, but {name}.step() was never called: this condition was never true",
                "change the condition so that it becomes true, and call step() once more after the loop for the last batches",
                missed,
            )
        return Explanation(
            "no-step",
            f"the parameters of {name} have gradients, but {name}.step() was never called, so they do not change",
            f"call {name}.step() after backward()",
            where,
        )
    if idle < 2 or 2 * idle < steps:
        return None
    where, who = _rate_from(optimizer, files, notes)
    return Explanation(
        "rate-zero",
        f"the gradients are fine, but the learning rate of {name} was zero in {idle} of {steps} steps, so the parameters do not change",
        f"check {who}: a factor of zero, a wrong number of steps or an integer division (`//`) makes the rate zero",
        where,
    )


def trains_others(optimizer: Any, notes: Watch | None) -> bool:
    """Whether none of an optimizer's parameters ever got a gradient."""
    held = [p for group in optimizer.param_groups for p in group["params"]]
    return notes is not None and not any("accumulated" in notes.about(p) for p in held)


def not_held(
    module: Any, name: str, optimizers: Iterable[Any], notes: Watch | None
) -> Explanation | None:
    """The parameters of a module that get gradients and that no optimizer updates."""
    optimizers = list(optimizers)
    held = {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}
    own = list(module.named_parameters())
    loose = [(n, p) for n, p in own if id(p) not in held and p._rg and p._grad is not None]
    if notes is None or not held or not loose:
        return None
    files = _files([p for _, p in loose], notes)
    where = next((w for o in optimizers if (w := _call_of(type(o).__name__, files))), None)
    return Explanation(
        "not-in-optimizer",
        f"{len(loose)} of {len(own)} parameters of {name} get gradients, but no optimizer updates them: {loose[0][0]} does not change",
        "give the optimizer all parameters, and create it after the last layer was added or replaced",
        where,
        [n for n, _ in loose[:8]],
    )


def unregistered(
    module: Any, name: str, optimizers: Iterable[Any], notes: Watch | None
) -> Explanation | None:
    """Layers in a plain list or dict of a module, that get gradients and that no optimizer updates."""
    held = {id(p) for o in optimizers for group in o.param_groups for p in group["params"]}
    for part, attribute, tensors in hidden(module) if notes is not None and held else ():
        got = [p for p in tensors if "accumulated" in notes.about(p) and id(p) not in held]  # type: ignore[union-attr]
        if got:
            return Explanation(
                "not-in-optimizer",
                f"{len(got)} parameters in the list {attribute} of {name} get gradients, and no optimizer has them: parameters() does "
                "not look into a plain list or dict",
                "make it an nn.ModuleList (nn.ModuleDict, nn.ParameterList)",
                assigned_in_class(type(part), attribute),
            )
    return None


def _files(held: list[Any], notes: Watch) -> list[str]:
    """The files of the program in which these parameters got their gradients."""
    sites = [notes.about(p).get(what) for p in held for what in ("accumulated", "begun")]
    return list(dict.fromkeys(site[0].co_filename for site in sites if site is not None))


def _uncalled(files: Iterable[str]) -> Line | None:
    """A statement that names a step and does not call it."""
    return next(
        (
            line_of(file, n.lineno, "")
            for file in files
            for n in walk(tree(file) or ast.Module([], []))
            if isinstance(n, ast.Expr)
            and isinstance(n.value, ast.Attribute)
            and n.value.attr == "step"
        ),
        None,
    )


def _never_reached(files: Iterable[str]) -> Line | None:
    """The condition on which the only step of an optimizer depends."""
    steps, conditions = [], []
    for file in files:
        nodes: list[Any] = [*walk(tree(file) or ast.Module([], []))]
        for n in nodes:
            func = n.func if isinstance(n, ast.Call) else n
            if getattr(func, "attr", "") != "step" or func is n:
                continue
            if "sched" not in ast.unparse(func).lower():
                steps.append(n)
                around = [
                    i
                    for i in nodes
                    if isinstance(i, ast.If) and i.lineno < n.lineno <= (i.end_lineno or 0)
                ]
                conditions += [line_of(file, i.lineno, "") for i in around[-1:]]
    return conditions[0] if len(steps) == len(conditions) == 1 else None


def _call_of(word: str, files: Iterable[str]) -> Line | None:
    """The last call of a class by its name."""
    found = [
        line_of(file, n.lineno, "")
        for file in files
        for n in walk(tree(file) or ast.Module([], []))
        if isinstance(n, ast.Call) and getattr(n.func, "attr", getattr(n.func, "id", None)) == word
    ]
    return max(found, key=lambda line: line.line, default=None)


def _rate_from(optimizer: Any, files: list[str], notes: Watch) -> tuple[Line | None, str]:
    """What gives an optimizer its learning rate: a schedule, or its own construction."""
    for x, own in with_attributes():
        if own.get("optimizer") is optimizer and "base_lrs" in own:
            word = type(x).__name__
            for factor in own.get("lr_lambdas", ()):
                code = getattr(factor, "__code__", None)
                if code is not None:
                    return _result_of(code, notes), word
            return _call_of(word, files), word
    word = type(optimizer).__name__
    if optimizer.defaults.get("lr"):  # it was made with another
        set_at = _set_rate(files)
        if set_at is not None:
            return set_at, "what this line sets or loads"
    return _call_of(word, files), word


def _set_rate(files: Iterable[str]) -> Line | None:
    """The last statement that writes the rate of a group, else the one that loads an optimizer's state."""
    written: list[Line] = []
    loaded: list[Line] = []
    for file in files:
        nodes: list[Any] = [*walk(tree(file) or ast.Module([], []))]
        for n in nodes:
            targets = n.targets if isinstance(n, ast.Assign) else []
            if any(
                isinstance(t, ast.Subscript) and getattr(t.slice, "value", "") == "lr"
                for t in targets
            ):
                written.append(line_of(file, n.lineno, ""))
            elif isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "load_state_dict":
                if "opt" in ast.unparse(n).lower():
                    loaded.append(line_of(file, n.lineno, ""))
    return max(written or loaded, key=lambda line: line.line, default=None)


def _result_of(code: Any, notes: Watch) -> Line | None:
    """Where a function gave the rate of zero; of a lambda, its line."""
    if code.co_name == "<lambda>":
        return line_of(code.co_filename, code.co_firstlineno, code.co_qualname)
    return returned_by(code, notes.returns_idle)


def compiled_of(x: Any) -> Any:
    """The compiled function that `x` is, or that it holds, as a compiled module does."""
    held = [x, *(getattr(x, "__dict__", None) or {}).values()]
    return next(
        (
            f
            for f in held
            if isinstance(getattr(f, "history", None), list) and hasattr(f, "versions")
        ),
        None,
    )


def about_compiled(function: Any, name: str, notes: Watch | None) -> Explanation:
    """How a compiled function served its calls: what it was traced again for, what stays in Python."""
    traces = [entry for entry in function.history if entry.startswith("traced")]
    if notes is not None and notes.active and len(traces) < 2:
        return Explanation(
            "not-compiled",
            f"{name} runs eagerly while operations are recorded, so nothing was compiled",
            "ask with --question compiled, or without debug.watch()",
        )
    module = getattr(function.function, "__self__", None)
    body = getattr(type(module), "forward", None) or function.function
    code = getattr(body, "__code__", None)
    evidence = [*traces[:8]] + [f"... {len(traces) - 8} more"] * (len(traces) > 8)
    breaks = function.graph_breaks
    if breaks is not None:
        evidence.append(breaks.text)
    # what the first call changed has become an input: no later call is traced for that
    again = [entry for entry in traces if not entry.startswith("traced again at the next call")]
    if len(again) > 1:
        word = name.rpartition(".")[2] if code is None or module is not None else code.co_name
        where = None if code is None else _call_of(word, [code.co_filename])
        reason = again[-1].partition("because ")[2]
        text = f"{name} was compiled {len(again)} times, the last time because {reason}"
        fix = "pass numbers that change as tensors (torch.tensor(x)), keep shapes and modes the same from call to call, or use dynamic=True"
        return Explanation("retraced", text, fix, where, evidence)
    refused = [entry for entry in function.history if entry.startswith(("is compiled ", "runs "))]
    why = refused[0].partition(": ")[2] if refused else ""
    if breaks is not None:
        where = next((site for site in breaks.sites if site is not None), None)
        if where is None and code is not None:
            where = line_of(code.co_filename, min(breaks.lines, default=code.co_firstlineno), "")
        text = f"{name} is compiled in parts: some lines stay in Python" + (why and f": {why}")
        fix = (
            "move code that must run in Python, such as reading or printing a value, after the call"
        )
        return Explanation("graph-break", text, fix, where, evidence)
    if not function.versions and refused:
        where = None if code is None else line_of(code.co_filename, code.co_firstlineno, "")
        fix = "move code that must run in Python out of the function, or compile the functions that it calls"
        text = f"{name} is not compiled and runs eagerly" + (why and f": {why}")
        return Explanation("not-compiled", text, fix, where, evidence)
    return Explanation("none", f"{name} was compiled once, as a single graph", "", None, evidence)
