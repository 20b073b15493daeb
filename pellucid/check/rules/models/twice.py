"""Parameters that two optimizers were given, or a generator of them that was used up."""

from __future__ import annotations

import ast
from typing import Any

from ...events import OptimizerInfo
from ...rule import Rule
from ..source.places import Place, assignments


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
