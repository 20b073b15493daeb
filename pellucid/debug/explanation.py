"""`explain`: what is the matter with a tensor, a parameter, a module or an error, in plain sentences and from evidence only.

Three sources of evidence, in this order: the thing itself; the graph, as far as it is alive (nodes are found through the garbage
collector, so that nothing has to be kept for it); and the notes of `debug.watch()`. What none of them shows is not guessed.
"""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np

from ..core import observe, reverse
from ..core.source import Line, describe, is_library
from ..core.tape import Node
from ..core.tensor import OutputSlot, Tensor
from ..errors import PellucidError
from ._names import carried
from .graph import Facts, shape_text
from .watching import Fault, Step, Watch, current

_WATCH = "call pellucid.debug.watch() before the forward pass and run it again: then the way of each value is noted"
_ZERO = 1e-12
_HUGE = 1e6


class Explanation:
    """What `explain` found.

    Attributes: `text` (plain sentences), `cause` (a stable slug; "none" when nothing is wrong, "unknown" when it cannot be known),
    `file` and `line` (where to look; None when not known), `fix` (what to change, or what to switch on), `evidence` (list of facts).
    """

    def __init__(self, cause: str, text: str, fix: str = "", where: Line | None = None, evidence: list[str] | None = None) -> None:
        self.cause, self.text, self.fix = cause, text, fix
        self.file: str | None = where.file if where else None
        self.line: int | None = where.line if where else None
        self.evidence: list[str] = evidence or []

    def as_dict(self) -> dict[str, Any]:
        """The facts for JSON."""
        names = ("cause", "file", "line", "text", "fix", "evidence")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        lines = [self.text, *(f"  - {fact}" for fact in self.evidence)]
        if self.file is not None:
            lines.append(f"  see {self.file}:{self.line}")
        return "\n".join([*lines, f"  fix: {self.fix}"] if self.fix else lines)

    def __repr__(self) -> str:
        return f"<{self.cause}> {self}"


def explain(x: Any, *, loss: Tensor | None = None, name: str | None = None) -> Explanation:
    """Say why a tensor has no gradient, a zero or a non-finite one, what an error means, or which parameters of a module have trouble.

    Args:
        x: a tensor, parameter, module, or an exception.
        loss: the value whose backward is in question; with its graph not yet freed, more can be said. Nothing is changed by it.
        name: what to call the tensor in the text.

    Raises:
        TypeError: `x` is something else.

    >>> import pellucid as torch
    >>> w = torch.tensor([2.0], requires_grad=True)
    >>> y = w * 3
    >>> torch.explain(y).cause
    'non-leaf'
    """
    if isinstance(x, BaseException):
        return _explain_error(x)
    if isinstance(x, Tensor):
        return _explain_tensor(x, loss, name or _kind(x))
    if callable(getattr(x, "named_parameters", None)):
        return _explain_module(x, loss)
    if x is None:
        raise TypeError(
            "explain(): None carries no history; give the tensor whose gradient is None (model.weight, not model.weight.grad)"
        )
    raise TypeError(f"explain(): expected a tensor, a module or an exception, got {type(x).__name__}")


def _kind(t: Tensor) -> str:
    return f"the {'parameter' if type(t).__name__ == 'Parameter' else 'tensor'} of shape {shape_text(t.shape)}"


def _explain_module(module: Any, loss: Tensor | None) -> Explanation:
    found = [(name, _explain_tensor(p, loss, name)) for name, p in module.named_parameters()]
    trouble = [(name, e) for name, e in found if e.cause != "none"]
    if not trouble:
        return Explanation("none", f"all {len(found)} parameters have finite gradients that are not zero")
    first = trouble[0][1]
    causes = {e.cause for _, e in trouble}
    evidence = [f"{name}: {e.cause}" + (f" ({e.file}:{e.line})" if e.file else "") for name, e in trouble]
    more = "" if len(causes) == 1 else f" The causes differ; the first: {first.text}"
    text = f"{len(trouble)} of {len(found)} parameters have no usable gradient." + (more or f" {first.text}")
    where = Line(first.file, first.line or 0, "", "") if first.file else None
    return Explanation(first.cause, text, first.fix, where, evidence)


# ---- tensors ---------------------------------------------------------------------------------
def _explain_tensor(t: Tensor, loss: Tensor | None, name: str) -> Explanation:
    notes = current()
    if not _is_finite(t):
        return _non_finite(t, t, name, notes)
    if t._grad is not None:
        if not _is_finite(t._grad):
            return _non_finite_gradient(t, name, notes)
        array = t._grad._array
        size = float(np.max(np.abs(np.asarray(array)))) if array.size else 1.0
        if size <= _ZERO:
            return _zero_gradient(t, loss, name, notes)
        if size >= _HUGE:
            return _huge_gradient(t, size, name, notes)
        return Explanation("none", f"{name} has a finite gradient that is not zero")
    if t._node is not None:
        return _non_leaf(t, name)
    if not t._rg:
        return _no_requirement(t, name, notes)
    return _missing(t, loss, name, notes)


def _non_leaf(t: Tensor, name: str) -> Explanation:
    node = t.grad_fn
    made = f"{name} was made by {node.name()}" + (f" at {node.line}" if node.line else "")
    if t.retains_grad:
        return Explanation(
            "no-backward", f"{name} keeps its gradient, and no backward has reached it since retain_grad() was called",
            "call backward() on a value that depends on it", node.line, [made],
        )  # fmt: skip
    return Explanation(
        "non-leaf", f"{name} is an intermediate value: gradients are kept for leaves only",
        "call retain_grad() on it before backward(), or use torch.autograd.grad(loss, tensor)", node.line, [made],
    )  # fmt: skip


_HOW = {
    "detached": ("was cut from the graph by {name}", "leave out {name}, or apply it only to what is logged"),
    "no-grad-block": ("was computed by {name} while gradients were switched off", "move the line out of no_grad() or inference_mode()"),
    "through-integer": ("passed through {name}, whose result has no derivative", "use a differentiable form (softmax instead of argmax)"),
    "through-number": ("left the graph as a Python number or list through {name}", "go on with the tensor; use {name} only for logging"),
    "through-numpy": ("left the graph for NumPy through {name}", "compute with tensor operations instead of NumPy's"),
}  # fmt: skip


_COPIED = ("was copied into a new tensor, before this line, as {name} does", "use the tensor itself; for a copy, clone()")


def _cut(step: Step, name: str, steps: list[Step], lead: str = "") -> Explanation:
    call = f"{step.name}()" if step.name != "data" else ".data"
    says, fix = (text.format(name=call) for text in (_COPIED if step.name == "torch.tensor" else _HOW[step.kind]))
    module = f" in module {step.module}" if step.module else ""
    way = [f"{s.name}" + (f" at {s.line}" if s.line else "") + ("" if s.kind == "op" else f"  <- {s.kind}") for s in steps]
    return Explanation(step.kind, f"{lead or name} {says}{module}: no gradient flows back through that", fix, step.line, way)


def _first_cut(steps: list[Step]) -> Step | None:
    """The step to blame on a way: the first one that leaves the graph; for `x.detach().numpy()` NumPy, not the detour before it."""
    for k, step in enumerate(steps):
        if step.kind != "op":
            after = steps[k + 1] if k + 1 < len(steps) else None
            return after if step.kind == "detached" and after is not None and after.kind.startswith("through-") else step
    return None


def _no_requirement(t: Tensor, name: str, notes: Watch | None) -> Explanation:
    if t.is_inference():
        return Explanation(
            "no-grad-block", f"{name} was made under inference_mode(), where nothing is recorded",
            "compute it outside of inference_mode()",
        )  # fmt: skip
    number = notes.known(t) if notes is not None else None
    if notes is not None and number is not None:
        step = notes.cut_before(number)
        if step is not None:
            return _cut(step, name, [step], f"{name} does not require a gradient: what it is made of")
    view = t._view
    if view is not None and view.kind == "no_grad" and view.base._rg:
        return Explanation(
            "no-grad-block", f"{name} is a view of a tensor that requires a gradient, made under no_grad()", "make the view outside of no_grad()"
        )  # fmt: skip
    twin = _twin(t)
    if twin is not None:
        return Explanation(
            "detached", f"{name} shares the memory of a tensor that requires a gradient, without its history: detach() or .data made it",
            "use the tensor itself where gradients are wanted" + ("" if notes else f"; for the line, {_WATCH}"),
            None, [f"the other tensor: {_kind(twin)}" + (f", made at {twin.grad_fn.line}" if twin.grad_fn else ", a leaf")],
        )  # fmt: skip
    if not t.dtype.is_floating_point and not t.dtype.is_complex:
        return Explanation(
            "not-requires-grad", f"{name} is of {t.dtype}: only floating point and complex tensors can have gradients",
            f"use a floating point dtype if it should have a gradient; to learn how it was made, {_WATCH}",
        )  # fmt: skip
    kind = "set requires_grad to True (was the parameter frozen?)" if "parameter" in _kind(t) else "make it with requires_grad=True"
    more = "" if notes is not None else f"; if it should be computed from something that requires a gradient, {_WATCH}"
    return Explanation("not-requires-grad", f"{name} does not require a gradient (requires_grad is False)", kind + more)


def _twin(t: Tensor) -> Tensor | None:
    """A living tensor on the same array that requires a gradient."""
    for other in gc.get_referrers(t._array):
        if isinstance(other, Tensor) and other is not t and other._rg and other._array is t._array:
            return other
    return None


class _Alive:
    """The part of the recorded graphs that is alive in the process, and what lies downstream of one leaf."""

    def __init__(self, leaf: Tensor) -> None:
        self.nodes = [n for n in gc.get_objects() if isinstance(n, Node) and hasattr(n, "inputs")]
        users: dict[int, list[Node]] = {}
        for n in self.nodes:
            for edge in n.inputs:
                if edge is not None:
                    users.setdefault(id(edge.node if type(edge) is OutputSlot else edge), []).append(n)
        self.cone: list[Node] = []
        seen, stack = {id(leaf)}, [id(leaf)]
        while stack:
            for n in users.get(stack.pop(), ()):
                if id(n) not in seen:
                    seen.add(id(n))
                    self.cone.append(n)
                    stack.append(id(n))
        self.freed = [n for n in self.cone if n.saved is None]
        inside = {id(n) for n in self.cone}
        self.freed_elsewhere = [n for n in self.nodes if n.saved is None and id(n) not in inside]


def _site_of(node: Node) -> Line | None:
    return describe(node.total) if isinstance(node.total, tuple) else None


def _missing(t: Tensor, loss: Tensor | None, name: str, notes: Watch | None) -> Explanation:
    """A leaf that requires a gradient and has none."""
    if notes is not None:
        found = _missing_by_notes(t, name, notes)
        if found is not None:
            return found
    alive = _Alive(t)
    if loss is not None:
        inside = _reaches(loss, t)
        if not inside:
            return Explanation(
                "not-ancestor", f"{name} takes no part in the loss: the loss's graph does not lead to it",
                f"use it in the computation of the loss; to learn where the way was cut, {_WATCH}", loss.grad_fn.line if loss.grad_fn else None,
            )  # fmt: skip
    if alive.freed:
        newest = max(alive.freed, key=lambda n: n.seq)
        where = _site_of(newest)
        return Explanation(
            "set-to-none", f"a backward call has gone through what {name} was used for, and its gradient was cleared after that",
            "read .grad after backward() and before zero_grad()", where,
            [f"{newest.name()} at {newest.line} was freed by the backward call at {where}"],
        )  # fmt: skip
    if alive.cone:
        last = max(alive.cone, key=lambda n: n.seq)
        facts = [f"the newest value that depends on it was made by {last.name()} at {last.line}"]
        kept = [n for n in alive.cone if n.saved]
        if alive.freed_elsewhere and not loss:
            other = max(alive.freed_elsewhere, key=lambda n: n.seq)
            if other.seq > last.seq:
                return Explanation(
                    "not-ancestor", f"{name} takes no part in the value that backward was called on",
                    "use it in the computation of the loss, or call backward on a value that depends on it", _site_of(other), facts,
                )  # fmt: skip
        if kept:
            return Explanation(
                "no-backward", f"backward has not been called on anything that depends on {name}",
                "call loss.backward() before reading .grad", last.line, facts,
            )  # fmt: skip
        return _unknown(name, facts)
    return _unknown(name, [f"no graph that leads to {name} is alive"])


def _unknown(name: str, facts: list[str]) -> Explanation:
    return Explanation(
        "unknown",
        f"{name} has no gradient, and why cannot be known now: either nothing computed from it had backward called, or the way to the "
        "loss was cut, or the gradient was cleared, and the graphs that could tell are gone",
        _WATCH, None, facts,
    )  # fmt: skip


def _reaches(loss: Tensor, leaf: Tensor) -> bool:
    from_root = [loss._node or loss]
    seen: set[int] = set()
    while from_root:
        edge = from_root.pop()
        edge = edge.node if type(edge) is OutputSlot else edge
        if edge is leaf:
            return True
        if isinstance(edge, Node) and id(edge) not in seen:
            seen.add(id(edge))
            from_root += [e for e in edge.inputs if e is not None]
    return False


def _missing_by_notes(t: Tensor, name: str, notes: Watch) -> Explanation | None:
    about = notes.about(t)
    if "accumulated" in about:
        cleared = describe(about.get("cleared"))
        place = f" at {cleared}" if cleared else ""
        got = describe(about["accumulated"])
        return Explanation(
            "set-to-none", f"{name} got its gradient, and it was cleared after that{place}",
            "read .grad after backward() and before zero_grad()", cleared or got, [f"the gradient came from the backward call at {got}"],
        )  # fmt: skip
    number = notes.known(t)
    exits = notes.exits(number) if number is not None else []
    shown = [f"{s.kind}: {s.name} at {s.line}" for s in exits[:5]]
    since = describe(notes.started)
    if not notes.backwards:
        if notes.dropped:
            return None
        facts = [f"watched since {since}: no backward call succeeded"]
        if shown:
            facts += ["what was computed from it left the graph here, so that no backward from there can reach it:", *shown]
        return Explanation("no-backward", f"backward has not been called since watch() was switched on, so {name} has no gradient",
                           "call loss.backward() before reading .grad", None, facts)  # fmt: skip
    roots = {r for tokens, _ in notes.backwards for r in tokens}
    where = describe(notes.backwards[-1][1])
    way = notes.way(number, roots) if number is not None else None
    if way is not None:
        step = _first_cut(way)
        if step is not None:
            return _cut(step, name, way, f"what was computed from {name}")
        return None  # joined to the loss, and yet no gradient: backward(inputs=...) or an operation without a derivative
    if notes.dropped:
        return Explanation("unknown", f"{name} has no gradient, and why cannot be known: the oldest notes were dropped",
                           f"watch fewer steps, or raise the limit: debug.watch(limit={2 * notes.limit})")  # fmt: skip
    for step in exits:
        names = carried(step.site, notes.backwards[-1][1]) if step.kind.startswith("through-n") else None
        if names is not None:
            facts = [f"the source shows the way to backward() at {where}: through {', '.join(names) or 'the same statement'}"]
            found = _cut(step, name, [step], f"what was computed from {name}")
            found.evidence += facts
            return found
    if number is None or not notes.users.get(number):
        facts = [f"watched since {since}: no operation used it"]
    else:
        facts = ["nothing computed from it was seen to enter the loss"]
        facts += ["it left the graph here; if the loss was made from that value, this is the cut:", *shown] if shown else []
    return Explanation("not-ancestor", f"{name} takes no part in the value that backward was called on",
                       "use it in the computation of the loss", where, facts)  # fmt: skip


# ---- zero, NaN and Inf -----------------------------------------------------------------------
_ZERO_TEXT = {
    "dead-relu": ("a ReLU is off for all inputs", "lower the learning rate, change the initialisation or bias, or use leaky_relu"),
    "saturation": ("an activation is saturated", "scale its inputs (normalise, smaller initial weights) or use another activation"),
    "masked": ("a mask removes it", "check the mask: which elements should count?"),
    "times-zero": ("it is multiplied by zero", "find out why the factor is zero (initialisation, scale, an earlier layer that is off)"),
    "unknown": ("the derivative of an operation is zero there", "look at the values at the line shown"),
}  # fmt: skip


def _zero(name: str, fault: Fault) -> Explanation:
    says, fix = _ZERO_TEXT[fault.cause]
    text = f"the gradient of {name} is zero because {says}: {fault.detail}"
    return Explanation(fault.cause, text, fix, fault.line, [f"on the way back it became zero in {fault.name} at {fault.line}"])


def _zero_gradient(t: Tensor, loss: Tensor | None, name: str, notes: Watch | None) -> Explanation:
    fault = notes.about(t).get("zero") if notes is not None else None
    if fault is None and loss is not None and loss._node is not None:
        fault = _replay(loss, t)
    if fault is not None:
        return _zero(name, fault)
    return Explanation(
        "unknown", f"the gradient of {name} is zero, and why cannot be known now: what backward passed through is freed",
        "call pellucid.debug.watch() before backward() and run it again, or give explain(tensor, loss=loss) before the graph is freed",
    )  # fmt: skip


def _huge_gradient(t: Tensor, size: float, name: str, notes: Watch | None) -> Explanation:
    growth = notes.about(t).get("growth") if notes is not None else None
    if growth is None:
        return Explanation("unknown", f"the gradient of {name} is huge ({size:.3g}), and why cannot be known now", _WATCH)
    path = f"on the way back it grew from {growth.first:.3g} to {growth.last:.3g}, {growth.factors} operations enlarged it"
    worst = f"the largest factor, {growth.largest:.3g}, is that of {growth.name} at {growth.line}"
    if growth.factors >= 2 and growth.last >= 1e4 * growth.first:
        return Explanation(
            "exploded", f"the gradient of {name} is huge ({size:.3g}) because factors above one multiply: {path}",
            "make the factors smaller (initial weights, normalisation, fewer steps through time) or clip: clip_grad_norm_", growth.line, [worst],
        )  # fmt: skip
    return Explanation(
        "none",
        f"the gradient of {name} is large ({size:.3g}) and finite; no chain of operations made it so",
        "",
        None,
        [path, worst],
    )


def _replay(loss: Tensor, t: Tensor) -> Fault | None:
    """Run the loss's backward for this tensor alone, watching, with graph and gradients left as they are."""
    if loss._array.size != 1:
        return None
    notes = Watch()
    try:
        with observe.observing(notes):
            reverse.grad([loss], [t], [None], True, False, True)
    except PellucidError:
        return None
    return notes.about(t).get("zero")


def _is_finite(t: Tensor) -> bool:
    a = t._array
    return not (type(a) is np.ndarray and a.dtype.kind in "fcV") or bool(np.isfinite(a).all())


def _count(a: Any) -> str:
    nan, inf = int(np.isnan(a).sum()), int(np.isinf(a).sum())
    return " and ".join([f"{nan} NaN"] * bool(nan) + [f"{inf} Inf"] * bool(inf)) + f" among {a.size} elements"


def _non_finite(t: Tensor, at: Tensor, name: str, notes: Watch | None) -> Explanation:
    """A value that is not finite."""
    facts = [f"{name} holds {_count(at._array)}"]
    fix = "keep the operation's inputs in its domain (clamp, add an epsilon, use the stable form such as log_softmax)"
    if notes is not None and notes.bad_forward is not None:
        f = notes.bad_forward
        return Explanation(
            "nan-forward", f"the first NaN or Inf appeared in the forward pass, in {f.name}", fix, f.line, [f.detail, *facts]
        )
    node = _first_bad(t)
    if node is not None:
        return Explanation("nan-forward", f"NaN or Inf appeared in {node.name()}, whose inputs were finite", fix, node.line, facts)
    return Explanation("unknown", f"{name} is not finite, and where that began cannot be known now", _WATCH, None, facts)


def _first_bad(t: Tensor) -> Node | None:
    """The oldest node whose result is known to be bad and whose inputs are all known to be finite."""
    if t._node is None:
        return None
    nodes, leaves, seen, stack = [], [], set(), [t._node]
    while stack:
        edge = stack.pop()
        edge = edge.node if type(edge) is OutputSlot else edge
        if edge is None or id(edge) in seen:
            continue
        seen.add(id(edge))
        if isinstance(edge, Node):
            nodes.append(edge)
            stack += edge.inputs
        else:
            leaves.append(edge)
    facts = Facts.__new__(Facts)
    facts.values, facts.grads, facts.constants = {id(leaf): leaf._array for leaf in leaves}, {}, {}
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
        known = [facts.constants.get((id(n), k)) if e is None else facts.values.get(id(e)) for k, e in enumerate(n.inputs)]
        if all(v is not None and np.isfinite(v).all() for v in known):
            return n
        return None
    return None


def _again(n: Node, facts: Facts) -> None:
    """Compute a node's result once more when it kept all its arguments as they were."""
    pairs = zip(n.plan.entries, n.saved or (), strict=False)
    kept = sorted(((i, v) for (kind, i), v in pairs if kind == "in" and v is not None), key=lambda pair: pair[0])
    fits = len(kept) == len(n.inputs) == len(n.op.args) and n.op.outputs == 1 and not (n.op.aux or n.op.variadic or n.op.view)
    if fits and sum(v.count for v in n.versions) == n.total:
        with np.errstate(all="ignore"):
            facts.values[id(n)] = np.asarray(n.op.numpy_forward(*(v for _, v in kept), **n.params))


def _non_finite_gradient(t: Tensor, name: str, notes: Watch | None) -> Explanation:
    assert t._grad is not None
    facts = [f"the gradient of {name} holds {_count(t._grad._array)}"]
    if notes is not None and notes.bad_forward is not None:
        return _non_finite(t, t._grad, name, notes)
    if notes is not None and notes.bad_backward is not None:
        f = notes.bad_backward
        return Explanation(
            "nan-backward", f"the forward pass is finite; NaN or Inf first appeared in the derivative of {f.name}",
            "keep its input away from the point where the derivative is infinite (for where(): make both branches finite)",
            f.line, [f.detail, *facts],
        )  # fmt: skip
    return Explanation(
        "unknown", f"the gradient of {name} is not finite, and where that began cannot be known now", _WATCH, None, facts
    )


# ---- errors ----------------------------------------------------------------------------------
_ERRORS = (
    ("Trying to backward through the graph a second time", "graph-freed"),
    ("modified by an inplace operation", "overwritten"),
    ("grad can be implicitly created only for scalar outputs", "nonscalar"),
    ("a leaf Variable that requires grad is being used in an in-place operation", "leaf-inplace"),
    ("a view of a leaf Variable that requires grad is being used in an in-place operation", "leaf-inplace"),
)
_FIXES = {
    "nonscalar": "reduce it to one number first (.mean() or .sum()), or give backward(gradient=...) of the tensor's shape",
    "leaf-inplace": "write to it inside `with torch.no_grad():`, or make a new tensor instead of writing",
}
_PLACE = re.compile(r" overwrote it at (.+?):(\d+)(?:  (.*))?$")


def _explain_error(error: BaseException) -> Explanation:
    if not isinstance(error, PellucidError):
        return Explanation(
            "unknown", f"{type(error).__name__} was not raised by this library: {error}", "read its traceback", _raised_at(error)
        )  # fmt: skip
    sentence = error.sentence
    where = error.source if isinstance(error.source, Line) else _raised_at(error)
    facts = [f"{o.name}: {shape_text(o.shape)}" + (f" made by {o.op}" if o.op else "") + (f" at {o.source}" if o.source else "")
             for o in error.operands if o.shape is not None]  # fmt: skip
    facts += list(error.notes)
    if "does not require grad and does not have a grad_fn" in sentence:
        return _explain_no_graph(error, where)
    for words, cause in _ERRORS:
        if words in sentence:
            for note in error.notes if cause == "overwritten" else ():
                match = _PLACE.search(note)
                if match:
                    where = Line(match[1], int(match[2]), "", match[3] or "")
            return Explanation(cause, sentence, _FIXES.get(cause) or error.hint or "", where, facts)
    return Explanation(_slug(type(error).__name__), sentence, error.hint or "", where, facts)


def _slug(name: str) -> str:
    """DimensionError as dimension-error."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _explain_no_graph(error: PellucidError, where: Line | None) -> Explanation:
    """backward() on something without a graph: the tensor itself is found in the traceback."""
    notes, root = current(), _root_of(error)
    number = notes.known(root) if notes is not None and root is not None else None
    if notes is not None and number is not None:
        step = notes.cut_before(number)
        if step is not None:
            return _cut(step, "the loss", [step], "backward was called on a value without a graph: what it was computed from")
        return Explanation(
            "not-requires-grad", f"backward was called on a value that, as far as was watched, no tensor requiring a gradient takes part in "
            f"(since {describe(notes.started)})",
            "give the parameters requires_grad=True and use them in the loss", where,
        )  # fmt: skip
    return Explanation(
        "unknown", "backward was called on a value without a graph; where it was cut, or that there never was one, cannot be known now",
        _WATCH + "; do not set requires_grad on the loss: the error goes away and nothing is learned", where,
    )  # fmt: skip


def _root_of(error: BaseException) -> Tensor | None:
    frame, root = error.__traceback__, None
    while frame is not None:
        names = frame.tb_frame.f_locals
        if frame.tb_frame.f_globals.get("__name__") == reverse.__name__ and isinstance(names.get("t"), Tensor):
            root = names["t"]
        frame = frame.tb_next
    return root


def _raised_at(error: BaseException) -> Line | None:
    """The innermost frame of the traceback that is the user's."""
    frame, last = error.__traceback__, None
    while frame is not None:
        if not is_library(frame.tb_frame.f_code.co_filename):
            last = (frame.tb_frame.f_code, frame.tb_lasti)
        frame = frame.tb_next
    return describe(last)
