"""An activation in place on the very values that a skip connection adds."""

from __future__ import annotations

import ast

from ...events import Op, Site, ancestors
from ...rule import Rule
from ..source.places import chosen, function_around

ACTIVATIONS = (
    "relu",
    "relu6",
    "leaky_relu",
    "elu",
    "selu",
    "celu",
    "silu",
    "mish",
    "hardswish",
    "hardtanh",
    "dropout",
    "sigmoid",
    "tanh",
)
JOINS = ("add", "cat", "sub")
KEPT = 256


class ValueChangedInPlace(Rule):
    """A branch begins with an activation in place, so the shortcut beside it gets its result, too."""

    slug = "value-changed-in-place"
    id = "PL316"
    severity = "error"
    summary = "an in-place activation changes what a skip connection adds"
    ops = (*ACTIVATIONS, *JOINS)

    def __init__(self) -> None:
        self._changed: dict[int, Op] = {}  # by number of the Value that an activation has made

    def on_op(self, op: Op) -> None:
        """An activation in place, or a sum."""
        if op.name in ACTIVATIONS:
            out = op.output
            if op.inplace and out is not None and out.ndim > 1:
                if len(self._changed) >= KEPT:
                    self._changed.pop(next(iter(self._changed)))
                self._changed[out.number] = op
            return
        if not self._changed or op.site is None or not op.direct or op.inplace:
            return
        for k, value in enumerate(op.inputs):
            made = self._changed.get(value.number)
            if made is None or made.output is not value:
                continue
            others = [v for j, v in enumerate(op.inputs) if j != k and v.number != value.number]
            if any(o is made for o in ancestors(others, 400)):
                self._judge(op, made, k)

    def _judge(self, join: Op, made: Op, k: int) -> None:
        site = join.site
        begun = _call_in(made, site)
        name = _operand(join, k)
        if site is None or begun is None or name is None or not _means_the_old(site, begun, name):
            return
        self.report(
            chosen(self.session.recorder, made),
            f"{made.name} changes `{name}` in place, and `{name}` is added to the result of the branch afterwards: the skip "
            f"connection carries {made.name}({name}) instead of {name}.",
            evidence={"changed_at": begun, "added_at": site, "shape": list(made.inputs[0].shape)},
            fix=f"remove inplace=True from this {made.name}",
        )


def _call_in(op: Op, site: Site | None) -> Site | None:
    """The place in the function of `site` from which an operation was reached."""
    if site is None or op.site is None:
        return None
    if op.site.code is site.code:
        return op.site
    call = op.module
    while call is not None:
        if call.site is not None and call.site.code is site.code:
            return call.site
        call = call.parent
    return None


def _operand(op: Op, k: int) -> str | None:
    """The name that the k-th operand of a sum has in the source; None where it has no name."""
    call = op.site.call if op.site is not None else None
    if call is None:
        return None
    written = call.arguments
    if op.name == "cat":
        listed = ast.parse(written[0], mode="eval").body if written else None
        parts = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else []
        written = [ast.unparse(part) for part in parts]
    text = written[k] if k < len(written) == len(op.inputs) else ""
    return text if text.isidentifier() else None


def _means_the_old(join: Site, begun: Site, name: str) -> bool:
    """Whether a name stands for what was there before the activation: nothing has been assigned to
    it since, and the activation is not a statement of its own.
    """
    function = function_around(join.file, join.line)
    if function is None or join.line < begun.line:
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node.lineno <= begun.line <= (node.end_lineno or 0):
            if isinstance(node, ast.Expr):
                return False
            whole_join = node.lineno <= join.line <= (node.end_lineno or 0)
            if isinstance(node, ast.Assign) and not whole_join and name in _targets(node):
                return False
        elif isinstance(node, ast.Assign) and begun.line < node.lineno < join.line:
            if name in _targets(node):
                return False
    return True


def _targets(node: ast.Assign) -> set[str]:
    return {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
