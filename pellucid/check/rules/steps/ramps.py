"""Weights of loss terms that are to grow and stay zero, because a whole-number division cuts them
off.
"""

from __future__ import annotations

import ast
from typing import Any

from ...events import Op, Site, Value
from ..source.places import Place, assigned_before, tree, walk

_TIMES = 6  # steps


class Ramps:
    """Looks at the products of losses and numbers."""

    def __init__(self) -> None:
        # by place: in how many steps the factor was zero, the place of its division
        self._zero: dict[Site, tuple[int, Place]] = {}
        self._looked: set[Site] = set()  # places where it is something else

    def see(self, op: Op) -> None:
        """A product."""
        if op.site is None or op.site in self._looked or len(op.inputs) != 1:
            return
        loss, number = op.inputs[0], op.args.get("other")
        number = op.args.get("input") if isinstance(number, Value) else number
        held = self._zero.get(op.site)
        if loss.numel != 1 or not loss.requires_grad or number != 0:
            self._looked.add(op.site)
            self._zero.pop(op.site, None)
            return
        place = held[1] if held is not None else _division(op.site)
        if place is None:
            self._looked.add(op.site)
        else:
            self._zero[op.site] = (held[0] + 1 if held is not None else 1), place

    def found(self) -> list[tuple[Place, Site, int]]:
        """(the division, the product, in how many steps) where the factor was always zero."""
        return [(p, site, n) for site, (n, p) in self._zero.items() if n >= _TIMES]


def _division(site: Site) -> Place | None:
    """The whole-number division of two names in what one of the factors at a place is made of."""
    call: Any = site.call
    root = tree(site.file)
    for text in call.arguments if call is not None and root is not None else ():
        try:
            node: ast.AST = ast.parse(text, mode="eval").body
        except SyntaxError:
            continue
        line = site.line
        if isinstance(node, ast.Name):
            made = assigned_before(site, node.id)
            if made is None:
                continue
            line = made.line
            node = next((n for n in walk(root) if getattr(n, "lineno", 0) == line), node)
        if _cut_off(node) is not None:
            return Place(site.file, line)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                name = ast.unparse(inner.func).rpartition(".")[2]
                for function in walk(root):
                    if isinstance(function, ast.FunctionDef) and function.name == name:
                        found = _cut_off(function)
                        if found is not None:
                            return Place(site.file, found.lineno)
    return None


def _cut_off(node: ast.AST) -> ast.expr | None:
    """`a // b` or `int(a / b)` in an expression."""
    for n in ast.walk(node):
        whole = isinstance(n, ast.Call) and ast.unparse(n.func) == "int" and len(n.args) == 1
        divided = n.args[0] if isinstance(n, ast.Call) and whole else n
        kind = ast.Div if whole else ast.FloorDiv
        if isinstance(divided, ast.BinOp) and isinstance(divided.op, kind):
            if isinstance(n, ast.expr) and not isinstance(divided.left, ast.Constant):
                return n
    return None
