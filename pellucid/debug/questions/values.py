"""Why a gradient is zero, tiny, huge, NaN or Inf, and where a value stopped being finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._living import living
from ...core import observe, reverse
from ...core.primitive import PRIMITIVES
from ...core.source import Line, describe
from ...core.tape import Node, walk
from ...core.tensor import Tensor
from ...errors import facts_of
from ..graph import Facts
from ..watching import Watch
from .backward import CAME_IN, HOOK, Factor, Fault, Growth, largest_of
from .finite import count_text, is_finite
from .naming import title
from .places import defined_at, second_name
from .result import Explanation

WATCH = "call pellucid.debug.watch() before the forward pass and run it again, so that each value's history is recorded"
_ZERO = 1e-12
_HUGE = 1e6
_LARGE = 1e3
_MUCH = 1e4  # that large, if one operation is the reason
# a gradient that much smaller than the largest of the same backward call is as good as none
_FRACTION = 1e-6

_ZERO_TEXT = {
    "dead-relu": (
        "a ReLU is inactive for all inputs",
        "lower the learning rate, change the initialization or bias, or use leaky_relu",
    ),
    "saturation": (
        "an activation is saturated",
        "scale its inputs (normalize, smaller initial weights) or use another activation",
    ),
    "masked": ("a mask removes it", "check the mask: which elements should count?"),
    "times-zero": (
        "a factor in the product is zero",
        "find out why the factor is zero (initialization, scale, an inactive layer before it)",
    ),
    "through-integer": (
        "rounding has no gradient",
        "round only for reporting, or use a straight-through gradient: x + (x.round() - x).detach()",
    ),
    "cancels": (
        "the gradients that flow back cancel out",
        "can the loss depend on it? A softmax sums to one, and a normalization removes constants",
    ),
    "hook": (
        "a hook changed it",
        "the line shown is the hook's: return the gradient that is wanted, or nothing to leave it as it is, or remove the hook",
    ),
    "at-minimum": (
        "the loss is at its minimum",
        "if this is unexpected: is a tensor compared with itself?",
    ),
    "no-derivative": (
        "an operation gave no derivative for it",
        "return a gradient for it from backward()",
    ),
    "unknown": (
        "the derivative of an operation is zero there",
        "look at the values at the line shown",
    ),
}

_DRAWN = "draw so that the parameters stay in the graph: mu + std * torch.randn_like(std), or rsample(); or weight the loss by log_prob(sample)"


def about_gradient(t: Tensor, loss: Tensor | None, name: str, notes: Watch | None) -> Explanation:
    """What is to be said of a gradient that is there."""
    assert t._grad is not None
    if not is_finite(t._grad):
        return _non_finite_gradient(t, loss, name, notes)
    size = largest_of(t._grad) if t._grad._array.size else 1.0
    if size <= _ZERO:
        return _zero_gradient(t, loss, name, notes)
    known = notes.about(t) if notes is not None else {}
    growth: Growth | None = known.get("growth")
    if size >= _HUGE or (
        growth is not None
        and size >= _LARGE
        and (_many_factors(growth) or size >= _MUCH and _one_reason(growth, size) is not None)
    ):
        return _huge_gradient(t, size, loss, name, notes)
    scale = (
        max(notes.gradients.largest, known["growth"].first if known.get("growth") else 0.0)
        if notes is not None
        else 0.0
    )
    cancels = known.get("zero") is not None and known["zero"].cause == "cancels"
    shrunk = growth is not None and size < _FRACTION * growth.first and growth.shrunk < _FRACTION
    if notes is not None and (
        shrunk or size < _FRACTION * (scale if cancels else notes.gradients.largest)
    ):
        found = _tiny_gradient(t, size, name, notes)
        if found is not None:
            return found
    return Explanation(
        "none", f"{name} has a finite gradient that is not zero (at most {size:.3g})"
    )


# ---- zero and tiny ---------------------------------------------------------------------------
def _in_module(fault: Fault) -> str:
    return f" (module {fault.module})" if fault.module else ""


def _zero(name: str, fault: Fault, notes: Watch | None) -> Explanation:
    says, fix = _ZERO_TEXT[fault.cause]
    if fault.cause == "through-integer" and fault.detail.startswith("a drawn sample"):
        says, fix = "it is cut where a sample is drawn", _DRAWN
    elif fault.cause == "cancels" and "a further one" in fault.detail:
        fix = "take the difference out of the graph: x + (x.round() - x).detach()"
    text = f"the gradient of {name} is zero because {says}: {fault.detail}"
    where = f" at {fault.line}" if fault.line else ""
    begun = _given_at(fault, notes)
    if begun is not None:
        what = (
            "its factor was zero" if fault.cause == "times-zero" else "the layer before it was so"
        )
        text += f"; {what} from the beginning, from {begun}"
        fix = "give it other values there (nn.init.kaiming_uniform_, nn.init.zeros_ for a bias); of two factors, one may begin with zeros"
    return Explanation(
        fault.cause,
        text,
        fix,
        begun or fault.line,
        [f"in the backward pass it became zero in {fault.name}{where}{_in_module(fault)}"],
    )


def _given_at(fault: Fault, notes: Watch | None) -> Line | None:
    """Where the parameter got its values to which a fault is owed."""
    leaf = fault.leaf() if fault.leaf is not None else None
    if leaf is None:
        return None
    filled = notes.about(leaf).get("filled") if notes is not None else None
    return describe(filled) if filled is not None else defined_at(leaf)


def _zero_gradient(t: Tensor, loss: Tensor | None, name: str, notes: Watch | None) -> Explanation:
    about = notes.about(t) if notes is not None else {}
    if about.get("cleared") is not None:
        line = describe(about["cleared"])
        return Explanation(
            "set-to-none",
            f"the gradient of {name} was set to zero after backward, at {line}",
            "read .grad after backward() and before zero_grad()",
            line,
        )
    fault = about.get("zero")
    if fault is None:
        fault = _replay(t, loss).get("zero")
    equals = notes.difference_of_equals(t) if notes is not None else None
    agree = fault is not None and fault.cause in ("at-minimum", "cancels", "times-zero")
    alias = second_name(t) if agree else None
    if fault is not None and alias is not None:
        facts = [fault.detail, f"in the backward pass it became zero at {fault.line}"]
        return _with_itself(name, "zero", alias, facts)
    if fault is not None and fault.cause == "cancels" and equals is not None:
        line = describe(equals)
        return Explanation(
            "cancels",
            f"the gradient of {name} is zero because the operands at {line} are equal and both are computed from it, so their gradients cancel",
            "make one of the two a constant: compute it under no_grad() or before the update, or detach() it",
            line,
            [fault.detail],
        )
    if fault is not None:
        return _zero(name, fault, notes)
    tiny = _tiny_gradient(t, largest_of(t._grad), name, notes) if notes is not None else None
    if tiny is not None:
        return tiny
    return Explanation(
        "unknown",
        f"the gradient of {name} is zero, and the reason can no longer be determined: the graph has been freed",
        "call pellucid.debug.watch() before backward() and run it again, or give explain(tensor, loss=loss) before the graph is freed",
    )


def _with_itself(name: str, small: str, alias: Line, facts: list[str]) -> Explanation:
    return Explanation(
        "at-minimum",
        f"the gradient of {name} is {small} because the loss compares a network with itself: this line gives it a second name, and "
        "makes no copy",
        "copy it: copy.deepcopy(network), then load_state_dict() whenever the copy is to follow",
        alias,
        facts,
    )


def _tiny_gradient(t: Tensor, size: float, name: str, notes: Watch) -> Explanation | None:
    about = notes.about(t)
    fault, growth = about.get("zero"), about.get("growth")
    if fault is not None and fault.cause == "cancels":
        says, fix = _ZERO_TEXT["cancels"]
        text = f"the gradient of {name} is zero up to rounding ({size:.3g}) because {says}: {fault.detail}"
        return Explanation(
            "cancels",
            text,
            fix,
            fault.line,
            [f"in the backward pass this happened in {fault.name}{_in_module(fault)}"],
        )
    if growth is None or not growth.down:
        return None
    share = (
        np.log(growth.flat) / np.log(growth.shrunk)
        if 0 < growth.shrunk < 1 and growth.flat > 0
        else 0.0
    )
    path = [
        f"in the backward pass it went from {growth.first:.3g} to {growth.last:.3g}, {growth.down} operations made it smaller",
        f"the largest gradient of this backward call is {notes.gradients.largest:.3g}",
        f"the smallest factor: {growth.smallest}",
    ]
    if growth.smallest.name == HOOK:
        says, fix = _ZERO_TEXT["hook"]
        return Explanation(
            "hook",
            f"the gradient of {name} is nearly zero ({size:.3g}) because {says}: it multiplied it by {growth.smallest.factor:.3g}",
            fix,
            describe(growth.smallest.site),
            path,
        )
    alias = second_name(t, named_so=True)
    if alias is not None:
        return _with_itself(name, f"nearly zero ({size:.3g})", alias, path)
    if share > 0.5:
        says, fix = _ZERO_TEXT["saturation"]
        return Explanation(
            "saturation",
            f"the gradient of {name} is nearly zero ({size:.3g}) because {says}: the small derivatives of several activations multiply",
            fix,
            describe(growth.smallest.site),
            path,
        )
    return Explanation(
        "vanished",
        f"the gradient of {name} is nearly zero ({size:.3g}) because factors below one multiply",
        "use residual connections, normalization or larger initial weights; through time, a gated unit",
        describe(growth.smallest.site),
        path,
    )


# ---- huge ------------------------------------------------------------------------------------
def _huge_gradient(
    t: Tensor, size: float, loss: Tensor | None, name: str, notes: Watch | None
) -> Explanation:
    growth: Growth | None = (notes.about(t) if notes is not None else {}).get("growth") or _replay(
        t, loss
    ).get("growth")
    if growth is None:
        return Explanation(
            "unknown",
            f"the gradient of {name} is huge ({size:.3g}), and the reason can no longer be determined",
            WATCH,
        )
    path = f"in the backward pass it grew from {growth.first:.3g} to {growth.last:.3g}, {growth.up} operations enlarged it"
    worst = f"the largest factor: {growth.largest}"
    one = _one_reason(growth, size)
    if one is not None and one is growth.summed:
        return Explanation(
            "exploded",
            f"the gradient of {name} is huge ({size:.3g}) because the loss is a sum over {one.factor:.0f} elements",
            "use mean() in place of sum(), or divide by the number of elements",
            describe(one.site),
            [path],
        )
    if one is not None:
        return Explanation(
            "hook" if one.name == HOOK else "exploded",
            f"the gradient of {name} is huge ({size:.3g}) because one operation multiplies it by {one.factor:.3g}: {one}"
            + ("; the values grew at the line shown" if one.begun else ""),
            "keep small and large numbers away from this operation (clamp, an epsilon in the divisor, smaller inputs), or use a "
            "stable form such as log_softmax",
            describe(one.begun or one.site),
            [path],
        )
    if _many_factors(growth) or (
        growth.last >= 1e4 * growth.first and (growth.up >= 2 or growth.largest.computed)
    ):
        return Explanation(
            "exploded",
            f"the gradient of {name} is huge ({size:.3g}) because factors above one multiply: {path}",
            "make the factors smaller (initial weights, normalization, fewer steps through time) or clip: clip_grad_norm_",
            describe(growth.largest.begun or growth.largest.site),
            [worst],
        )
    text = f"{name} has a large gradient ({size:.3g}) that is finite; no single chain of operations explains it"
    return Explanation("none", text, "", None, [path, worst])


def _one_reason(growth: Growth, size: float) -> Factor | None:
    """The one operation that made a gradient large: its factor is the better part of it."""
    if growth.largest.factor >= _LARGE and growth.largest.factor**2 >= size:
        return growth.largest
    summed = growth.summed.factor >= _LARGE and growth.summed.factor**2 >= size
    return growth.summed if summed else None


def _many_factors(growth: Growth) -> bool:
    """A growth by many factors, of which no single one makes the most."""
    grown = growth.last / growth.first
    return grown >= _LARGE and growth.up >= 5 and growth.largest.factor**2 < grown


def _replay(t: Tensor, loss: Tensor | None) -> dict[str, Any]:
    """Run a living loss's backward for this tensor alone, watching, with graph and gradients left
    as they are; what was noted.
    """
    if loss is None:
        loss = _living_loss(t)
    if loss is None or loss._node is None or loss._array.size != 1:
        return {}
    notes = Watch()
    notes.gradients.keeps = True
    try:
        with observe.observing(notes):
            found = reverse.grad([loss], [t], [None], True, False, True)
    except Exception as error:
        if facts_of(error) is None:
            raise
        return {}
    if found[0] is not None:
        notes.gradients.accumulate(t, found[0])
    return notes.about(t) | {"nan": notes.gradients.bad}


def _living_loss(t: Tensor) -> Tensor | None:
    """A scalar that is alive, was made from this leaf, and can still be differentiated; the newest
    one.
    """
    if t._node is not None:
        return None
    found: list[tuple[float, Tensor]] = []
    for x in living(Tensor):
        if hasattr(x, "_node") and isinstance(x._node, Node) and x._array.size == 1:
            found.append((x._node.seq, x))
    for _, x in sorted(found, key=lambda pair: -pair[0])[:8]:
        edges = list(walk([x._node]))
        if any(e is t for e in edges) and all(
            not isinstance(e, Node) or e.saved is not None for e in edges
        ):
            return x
    return None


# ---- NaN and Inf -----------------------------------------------------------------------------
_STEP = "the update was too large: lower the learning rate, or clip gradients with clip_grad_norm_"


def _domain(name: str, detail: str = "") -> str:
    if "had grown to" in detail:
        return "the values diverged before: lower the learning rate, clip gradients with clip_grad_norm_, or normalize"
    if name.endswith(".step"):
        return _STEP
    record = PRIMITIVES.get(name)
    return (record and record.advice) or (
        "keep the operation's inputs in its domain (clamp, add an epsilon, use a stable form such as log_softmax)"
    )


def non_finite(t: Tensor, at: Tensor, name: str, notes: Watch | None) -> Explanation:
    """A value that is not finite."""
    facts = [f"{name} {count_text(at._array)}"]
    fault = notes.blame(at) if notes is not None else None
    if fault is not None:
        return _fault(fault, facts)
    node = _first_bad(t)
    if node is not None:
        text = f"NaN or Inf appeared in {title(node.op.name)} ({node.name()}), whose inputs were finite"
        return Explanation("nan-forward", text, _domain(node.op.name), node.line, facts)
    return Explanation(
        "unknown",
        f"{name} is not finite, and where it started can no longer be determined",
        WATCH,
        None,
        facts,
    )


def _fault(fault: Fault, facts: list[str]) -> Explanation:
    facts = [*([f"in module {fault.module}"] if fault.module else []), *facts]
    if fault.cause == "nan-backward":
        text = f"the forward pass is finite; NaN or Inf first appeared in the derivative of {fault.name}"
        fix = "keep its input away from the point where the derivative is infinite (for where(): make both branches finite)"
        return Explanation("nan-backward", text, fix, fault.line, [fault.detail, *facts])
    if CAME_IN in fault.detail:
        text = f"NaN or Inf was in the data that {fault.name} was given: {fault.detail}"
        if "put it there" in fault.detail:
            text = f"NaN or Inf came into the data here: {fault.detail}"
        return Explanation(
            "nan-forward",
            text,
            "clean the data: torch.isfinite(x).all(1) shows which rows are bad",
            fault.line,
            facts,
        )
    text = f"the first NaN or Inf appeared in the forward pass, in {fault.name}: {fault.detail}"
    if fault.name.endswith(".step"):
        what = "huge" if "had grown to" in fault.detail else "NaN or Inf"
        text = f"{fault.name} made a parameter {what}: {fault.detail}"
    return Explanation("nan-forward", text, _domain(fault.name, fault.detail), fault.line, facts)


def _non_finite_gradient(
    t: Tensor, loss: Tensor | None, name: str, notes: Watch | None
) -> Explanation:
    assert t._grad is not None
    facts = [f"the gradient of {name} {count_text(t._grad._array)}"]
    fault = (notes.about(t).get("bad") or notes.gradients.bad) if notes is not None else None
    fault = fault or _replay(t, loss).get("nan")
    if fault is not None:
        return _fault(fault, facts)
    if not is_finite(t):
        return non_finite(t, t, name, notes)
    return Explanation(
        "unknown",
        f"the gradient of {name} is not finite, and where it started can no longer be determined",
        WATCH,
        None,
        facts,
    )


def _first_bad(t: Tensor) -> Node | None:
    """The oldest node whose result is known to be bad and whose inputs are all known to be finite."""
    if t._node is None:
        return None
    edges = list(walk([t._node]))
    nodes = [e for e in edges if isinstance(e, Node)]
    facts = Facts.__new__(Facts)
    facts.values, facts.grads, facts.constants = (
        {id(e): e._array for e in edges if isinstance(e, Tensor)},
        {},
        {},
    )
    for n in nodes:
        facts._saved(n)
    if isinstance(t._node, Node):
        facts.values[id(t._node)] = t._array
    for n in nodes:
        if id(n) not in facts.values:
            _again(n, facts)
    for n in sorted(nodes, key=lambda n: n.seq):
        out = facts.values.get(id(n))
        if out is None or np.isfinite(out).all():
            continue
        known = [
            facts.constants.get((id(n), k)) if e is None else facts.values.get(id(e))
            for k, e in enumerate(n.inputs)
        ]
        return n if all(v is not None and np.isfinite(v).all() for v in known) else None
    return None


def _again(n: Node, facts: Facts) -> None:
    """Compute a node's result once more when it kept all its arguments as they were."""
    pairs = zip(n.plan.entries, n.saved or (), strict=False)
    kept = sorted(
        ((i, v) for (kind, i), v in pairs if kind == "in" and v is not None),
        key=lambda pair: pair[0],
    )
    fits = (
        len(kept) == len(n.inputs) == len(n.op.args)
        and n.op.outputs == 1
        and not (n.op.aux or n.op.variadic or n.op.view)
    )
    if fits and sum(v.count for v in n.versions) == n.total:
        with np.errstate(all="ignore"):
            facts.values[id(n)] = np.asarray(n.op.numpy_forward(*(v for _, v in kept), **n.params))
