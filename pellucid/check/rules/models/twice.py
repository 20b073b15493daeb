"""Parameters that an optimizer was given in vain: those of another optimizer, a generator that was
used up, those of a copy; and parameters that each forward makes anew.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ...events import Backward, OptimizerInfo, Step, Value, ancestors
from ...rule import Rule
from ..source.places import Place, assignments, tree, walk


def given_twice(
    optimizers: list[OptimizerInfo], of: dict[int, set[int]], vain: dict[int, Any]
) -> tuple[OptimizerInfo, OptimizerInfo, Any] | None:
    """(optimizer, the one that has its parameters already, where it stepped in vain). `of` are the
    parameters that each has stepped on, `vain` the steps after a backward that reached none of them.
    """
    for info in optimizers:
        own = of.get(info.number)
        twins = [o for o in optimizers if o is not info and of.get(o.number) == own]
        if info.number in vain and own and twins:
            return info, twins[0], vain[info.number]
    return None


def tell_twice(
    rule: Rule, info: OptimizerInfo, other: OptimizerInfo, step: Any, left: list[str]
) -> None:
    """Report it, with the names of the parameters that no optimizer has."""
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    rule.report(
        info.site,
        f"this optimizer has the same parameters as the one at {other.site}, while {left[0]}{more} got gradients and {'are' if more else 'is'} in "
        "no optimizer.",
        evidence={"parameters": left[:8]},
        fix="give it the parameters of the other model",
        severity="error",
        covers=[step],
    )


def exhausted(site: Any) -> Place | None:
    """The first line that makes a generator, `model.parameters()`, which the call that makes an
    optimizer is given by its name.
    """
    call = site.call if site is not None else None
    names = (
        {n.id for n in ast.walk(call._node) if isinstance(n, ast.Name)}
        if call is not None
        else set()
    )
    lines = [
        node.lineno
        for name in names
        for node in assignments(site.file, name, 1, site.line)
        if isinstance(node.value, ast.GeneratorExp)
        or isinstance(node.value, ast.Call)
        and getattr(node.value.func, "attr", getattr(node.value.func, "id", ""))
        in ("parameters", "named_parameters", "filter", "chain", "map")
    ]
    return Place(site.file, min(lines)) if lines else None


def of_another(
    info: OptimizerInfo, reached: dict[int, Value], held: set[int], rule: Rule
) -> tuple[Value, Any, str] | None:
    """(first parameter, model, path of the parameter) of the model that is trained while an
    optimizer has the parameters of another one of the same kind, which no backward has reached:
    those of a copy.
    """
    recorder = rule.session.recorder
    own = info.params()
    shapes = [v.shape for v in own]
    if not own or any(v.id in reached for v in own):
        return None
    for root in recorder.names.roots():
        paths = [path for path, _ in root.named_parameters()]
        values = [recorder.value(p) for p in root.parameters()]
        if [v.shape for v in values] == shapes and all(
            v.id in reached and v.id not in held for v in values
        ):
            return values[0], root, paths[0]
    return None


def tell_of_another(rule: Rule, root: Any, event: Step, place: Any) -> None:
    """Report an optimizer with the parameters of a copy of a model."""
    title = rule.session.recorder.names.root_name(root)
    rule.report(
        place or event.optimizer.site,
        f"this optimizer has the parameters of another {type(root).__name__}, which no backward reaches: those of {title} get the gradients, "
        "and nothing trains them.",
        evidence={"stepped_at": str(event.site), "parameters": len(event.optimizer.params())},
        fix=f"`{title}.parameters()`, of the model that is trained and not of a copy",
        severity="error",
        covers=[event.site],
    )


class Anew:
    """Parameters that are made in each forward and get a gradient once."""

    TIMES = 6  # of them at one place

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        # by place of their use: the parameters
        self._found: dict[Any, dict[int, Value]] = {}

    def see(self, event: Backward, held: set[int]) -> None:
        """Leaves of this step that nobody has."""
        new = {
            a.value.id: a.value
            for a in event.accumulated
            if a.value.step == event.step
            and not a.onto
            and a.value.id not in held
            and type(a.value.tensor).__name__ == "Parameter"
            and a.value.parameter is None
        }
        for op in ancestors(event.roots, limit=5000) if new else ():
            for value in op.inputs:
                if value.id in new and op.site is not None:
                    self._found.setdefault(op.site, {})[value.id] = new.pop(value.id)

    def tell(self, known: set[int]) -> None:
        """Places with many of them, none of which anybody knows."""
        for site, values in self._found.items():
            if len(values) < self.TIMES or values.keys() & known:
                continue
            place = _makes(site)
            if place is None:  # made by a copy, of which another rule tells
                continue
            self._rule.report(
                place,
                "a parameter is created here in every forward: its values are new each time, no optimizer has it, and whatever it learns is lost.",
                evidence={"used_at": str(site), "times": len(values)},
                fix="create it once, in `__init__`: `self.name = nn.Parameter(...)`",
            )


def _makes(site: Any) -> Place | None:
    """The line that makes a parameter outside of `__init__`: in the function of a place, or in the
    only other one of the file that does.
    """
    root = tree(site.file)
    lines: dict[str, int] = {}
    for function in walk(root) if root is not None else ():
        if isinstance(function, ast.FunctionDef) and function.name != "__init__":
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Parameter"):
                    lines.setdefault(function.name, node.lineno)
    own = lines.get(site.code.co_name)
    named = [line for name, line in lines.items() if re.search(rf"\b{name}\b", site.text)]
    found = own or (named[0] if len(named) == 1 else None)
    found = found or (next(iter(lines.values())) if len(lines) == 1 else None)
    return Place(site.file, found) if found is not None else None
