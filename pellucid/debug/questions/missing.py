"""Why a tensor has no gradient: from the tensor, from the graph if it is alive, and from the
records of `watch()`.
"""

from __future__ import annotations

import ast
import gc
import re
from typing import Any

from ..._living import living
from ...core.source import Line, describe
from ...core.tape import Node, walk
from ...core.tensor import Tensor, collects, node_of
from .._names import carried
from ..graph import shape_text
from ..watching import DRAWING, Watch
from .naming import title
from .places import defined_at, is_lost, scope_at, second_name, unfreezing
from .result import Explanation
from .steps import BackwardCall, NotedStep
from .values import WATCH

_READ = "read .grad after backward() and before zero_grad()"


def kind_of(t: Tensor) -> str:
    """What to call a tensor that has no name."""
    return f"the {'parameter' if type(t).__name__ == 'Parameter' else 'tensor'} of shape {shape_text(t.shape)}"


def no_gradient(t: Tensor, loss: Tensor | None, name: str, notes: Watch | None) -> Explanation:
    """Why `.grad` is None."""
    if t._node is not None and not t.retains_grad:
        node = t.grad_fn
        made = f"{name} was made by {node.name()}" + (f" at {node.line}" if node.line else "")
        here = re.escape(name)
        updated = node.line and re.match(rf"{here}\s*=.*\b{here}\.grad\b", node.line.text)
        return Explanation(
            "non-leaf",
            f"{name} is an intermediate value: gradients are kept only for leaf tensors",
            f"update the leaf in place: with torch.no_grad(): {name} -= lr * {name}.grad"
            if updated
            else "call retain_grad() on it before backward(), or use torch.autograd.grad(loss, tensor)",
            node.line,
            [made],
        )
    if not t._rg or t._node is None and not collects(t):
        return _no_requirement(t, name, notes)
    return _missing(t, loss, name, notes)


# ---- where the graph was cut -----------------------------------------------------------------
_HOW = {
    "detached": (
        "was cut from the graph by {name}",
        "leave out {name}, or apply it only to what is logged",
    ),
    "no-grad-block": (
        "was computed by {name} while gradients were switched off",
        "move the line out of no_grad() or inference_mode()",
    ),
    "no-create-graph": (
        "was turned into a gradient by {name} without create_graph=True, and that gradient is a constant",
        "pass create_graph=True to torch.autograd.grad",
    ),
    "through-integer": (
        "passed through {name}, whose result has no derivative",
        "use a differentiable form (softmax instead of argmax)",
    ),
    "through-number": (
        "left the graph as a Python number or list through {name}",
        "keep computing with the tensor; use {name} only for logging",
    ),
    "through-numpy": (
        "left the graph for NumPy through {name}",
        "compute with tensor operations instead of NumPy's",
    ),
}
_COPIED = (
    "was copied into a new tensor without its history, as {name} does",
    "use the tensor itself; torch.stack for several; for a copy, clone()",
)


def cut(step: NotedStep, name: str, steps: list[NotedStep], lead: str = "") -> Explanation:
    """The answer for a way that ends where `step` left the graph."""
    if step.kind == "no-grad-block" and step.line is not None and ".sample(" in step.line.text:
        # drawing switches gradients off by itself
        step = step._replace(kind="through-integer", name="sample")
    call = f"{step.name}()" if step.name != "data" else ".data"
    says, fix = (
        text.format(name=call)
        for text in (_COPIED if step.name == "torch.tensor" else _HOW[step.kind])
    )
    if step.name in DRAWING:
        fix = "a drawn sample has no derivative: use rsample(), gumbel_softmax, or weight the loss by log_prob(sample)"
    within = [describe(step.site), *map(describe, step.stack)]  # the block, or what it calls
    switched = step.kind == "no-grad-block" and step.line not in within
    if switched and step.line is not None and not step.line.text.startswith("@"):
        says += " by the line shown, which was still in force"
        fix = "keep it to a block, `with torch.no_grad():`, or switch gradients on again in a `finally`"
    module = f" in module {step.module}" if step.module else ""
    way = [
        title(s.name)
        + (f" at {s.line}" if s.line else "")
        + ("" if s.kind == "op" else f"  <- {s.kind}")
        for s in steps
    ]
    if len(way) > 12:
        way = [*way[:4], f"... {len(way) - 9} more steps ...", *way[-5:]]
    return Explanation(
        step.kind,
        f"{lead or name} {says}{module}: no gradient flows back through it",
        fix,
        step.line,
        way,
    )


def first_cut(steps: list[NotedStep]) -> NotedStep | None:
    """The step to blame on a way: the first one that leaves the graph; for `x.detach().numpy()`
    NumPy, not the detour before it.
    """
    for k, step in enumerate(steps):
        if step.kind != "op":
            after = (
                next((s for s in steps[k + 1 :] if s.kind != "op"), None)
                if step.kind == "detached"
                else None
            )
            return (
                after
                if after is not None
                and after.kind.startswith("through-")
                and after.line == step.line
                else step
            )
    return None


# ---- a tensor that requires no gradient ------------------------------------------------------
def _no_requirement(t: Tensor, name: str, notes: Watch | None) -> Explanation:
    if t.is_inference():
        return Explanation(
            "no-grad-block", f"{name} was made under inference_mode(), where nothing is recorded",
            "compute it outside of inference_mode()", *_made_at(t, notes),
        )  # fmt: skip
    number = notes.known(t) if notes is not None else None
    if notes is not None and number is not None:
        step = notes.cut_before(number)
        if step is not None:
            return cut(
                step, name, [step], f"{name} does not require a gradient: what it was computed from"
            )
    view = t._view
    if view is not None and not collects(t):
        mode = f"{'inference_mode' if view.kind == 'inference' else 'no_grad'}()"
        return Explanation(
            "no-grad-block",
            f"{name} is a view of a tensor that requires a gradient, made under {mode}",
            f"make the view outside of {mode}",
        )
    twin = _twin(t)
    if twin is not None:
        return Explanation(
            "detached",
            f"{name} shares the memory of a tensor that requires a gradient, without its history: detach() or .data made it",
            "use the tensor itself where gradients are wanted"
            + ("" if notes else f"; for the line, {WATCH}"),
            None,
            [
                f"the other tensor: {kind_of(twin)}"
                + (f", made at {twin.grad_fn.line}" if twin.grad_fn else ", a leaf")
            ],
        )
    switched = notes.about(t).get("requires_grad") if notes is not None else None
    if switched is not None and not switched[0]:
        line = describe(switched[1])
        meant = (
            unfreezing(t, line, notes.switched_on)
            if notes is not None and line is not None
            else None
        )
        if meant is not None:
            return Explanation(
                "not-requires-grad",
                f"{name} does not require a gradient: it was switched off at {line}, and this line, which should switch it on "
                "again, did not reach it",
                "set `requires_grad` of each parameter (`module.requires_grad_(True)`), and check the condition",
                meant,
            )
        alias = second_name(t, named_so=True)
        if alias is not None and line is not None and alias.line < line.line:
            return Explanation(
                "not-requires-grad",
                f"{name} does not require a gradient: it was switched off at {line}, through a second name of the same module, "
                "which this line gave it",
                "copy the module there: copy.deepcopy(...)",
                alias,
            )
        return Explanation(
            "not-requires-grad",
            f"{name} does not require a gradient: it was switched off at {line}",
            "keep requires_grad on for whatever should be trained",
            line,
        )
    if not t.dtype.is_floating_point and not t.dtype.is_complex:
        return Explanation(
            "not-requires-grad",
            f"{name} has dtype {t.dtype}; only floating-point and complex tensors can have gradients",
            f"use a floating point dtype if it should have a gradient; to find out how it was made, {WATCH}",
            *_made_at(t, notes),
        )
    fix = (
        "set requires_grad to True (was the parameter frozen?)"
        if "parameter" in kind_of(t)
        else "create it with requires_grad=True"
    )
    more = (
        ""
        if notes is not None
        else f"; if it should be computed from something that requires a gradient, {WATCH}"
    )
    text = f"{name} does not require a gradient (requires_grad is False)"
    return Explanation("not-requires-grad", text, fix + more, *_made_at(t, notes))


def _made_at(t: Tensor, notes: Watch | None) -> tuple[Line | None]:
    if notes is None:
        return (None,)
    return (describe(notes.made_at(t)) or defined_at(t),)


def _twin(t: Tensor) -> Tensor | None:
    """A living tensor on the same array that requires a gradient."""
    for other in gc.get_referrers(t._array):
        if isinstance(other, Tensor) and other is not t and other._rg and other._array is t._array:
            return other
    return None


# ---- what is alive of the graph --------------------------------------------------------------
class _Alive:
    """The part of the recorded graphs that is alive in the process, and what lies downstream of one
    tensor.
    """

    def __init__(self, t: Tensor) -> None:
        self.nodes = [n for n in living(Node) if hasattr(n, "inputs")]
        users: dict[int, list[Node]] = {}
        for n in self.nodes:
            for edge in n.inputs:
                if edge is not None:
                    users.setdefault(id(node_of(edge)), []).append(n)
        self.cone: list[Node] = [] if t._node is None else [t.grad_fn]
        start = id(t if t._node is None else t.grad_fn)
        seen, stack = {start}, [start]
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
    """A tensor whose gradient would be kept, and that has none."""
    alive = _Alive(t)
    if notes is not None and not (
        notes.last_node and any(n.seq > notes.last_node for n in alive.cone)
    ):
        found = _missing_by_notes(t, name, notes, alive)
        if found is not None:
            return found
    if loss is not None and not any(
        edge is t or edge is t.grad_fn for edge in walk([loss._node or loss])
    ):
        return Explanation(
            "not-ancestor",
            f"{name} was not used to compute the loss: it is not in the graph of the loss",
            f"use it in the computation of the loss; to find out where it was cut, {WATCH}",
            loss.grad_fn.line if loss.grad_fn else None,
        )
    if alive.freed:
        newest = max(alive.freed, key=lambda n: n.seq)
        where = _site_of(newest)
        if where is not None and "backward" not in where.text and "grad(" in where.text:
            return _returned_instead(name, where)
        return Explanation(
            "set-to-none",
            f"a backward call went through the operations that used {name}, and its gradient was cleared afterwards",
            _READ,
            where,
            [f"{newest.name()} at {newest.line} was freed by the backward call at {where}"],
        )
    if alive.cone:
        last = max(alive.cone, key=lambda n: n.seq)
        facts = [f"the newest value that depends on it was made by {last.name()} at {last.line}"]
        kept = [n for n in alive.cone if n.saved]
        if alive.freed_elsewhere and not loss:
            other = max(alive.freed_elsewhere, key=lambda n: n.seq)
            if other.seq > last.seq:
                return Explanation(
                    "not-ancestor",
                    f"{name} was not used to compute the value that backward() was called on",
                    "use it in the computation of the loss, or call backward on a value that depends on it",
                    _site_of(other),
                    facts,
                )
        if kept:
            return Explanation(
                "no-backward", f"backward has not been called on any value that depends on {name}",
                "call loss.backward() before reading .grad", last.line, facts,
            )  # fmt: skip
        return _unknown(name, facts)
    return _unknown(name, [f"no graph that contains {name} is alive"])


def _returned_instead(name: str, where: Line | None) -> Explanation:
    return Explanation(
        "no-backward",
        f"gradients were computed by torch.autograd.grad at {where}: it returns them and does not change the .grad of {name}",
        "use what autograd.grad returns, or call backward()",
        where,
    )


def _unknown(name: str, facts: list[str]) -> Explanation:
    return Explanation(
        "unknown",
        f"{name} has no gradient, and the reason can no longer be determined: backward() was never called on anything computed from it, or the "
        "graph was cut, or the gradient was cleared, and the graph has been freed",
        WATCH,
        None,
        facts,
    )


# ---- from the notes --------------------------------------------------------------------------
def _missing_by_notes(t: Tensor, name: str, notes: Watch, alive: _Alive) -> Explanation | None:
    about = notes.about(t)
    if "accumulated" in about:
        cleared = describe(about.get("cleared"))
        place = f" at {cleared}" if cleared else ""
        got = describe(about["accumulated"])
        return Explanation(
            "set-to-none",
            f"{name} got its gradient, which was cleared afterwards{place}",
            _READ,
            cleared or got,
            [f"the gradient came from the backward call at {got}"],
        )
    if about.get("none") is not None:
        fault = about["none"]
        return Explanation(
            "no-derivative",
            f"{name} has no gradient because an operation returned none: {fault.detail}",
            "return a gradient for it from backward()",
            fault.line,
        )
    number = notes.known(t)
    exits = notes.exits(number) if number is not None else []
    shown = [f"{s.kind}: {s.name} at {s.line}" for s in exits[:5]]
    began = describe(notes.started)
    since = f"since {began}" if began is not None else "from the first line on"
    last_use = describe(notes.last_use(number)) if number is not None else None
    calls = notes.whole_calls()
    if not notes.backwards:
        if notes.dropped:
            return None
        facts = [f"watched {since}: backward was never called"]
        if shown:
            facts += [
                "the value computed from it left the graph here, so no backward can reach it:",
                *shown,
            ]
        return Explanation(
            "no-backward",
            f"backward has not been called since watch() was switched on, so {name} has no gradient",
            "call loss.backward() before reading .grad",
            last_use,
            facts,
        )
    if not notes.finished:
        where = describe(notes.backwards[-1].site)
        return Explanation(
            "no-backward",
            f"the backward call at {where} did not finish, so {name} has no gradient",
            "explain the exception that ended it",
            where,
        )
    if not calls:
        return Explanation(
            "unknown",
            f"{name} has no gradient, and the reason cannot be determined: the recorded history does not cover "
            "a whole forward pass",
            f"watch fewer steps, or raise the limit: debug.watch(limit={4 * notes.limit})",
        )
    where = describe(calls[-1].site)
    for call in reversed(calls):
        way = notes.way(number, set(call.roots)) if number is not None else None
        if way is not None:
            step = first_cut(way)
            if step is not None:
                return cut(step, name, way, f"what was computed from {name}")
            if not call.accumulates:
                return _returned_instead(name, describe(call.site))
            return None  # joined to the loss, and yet no gradient: backward(inputs=...)
    found = _by_source(exits, number, name, notes, calls) if number is not None else None
    if found is not None:
        return found
    last_step = notes.last_step(number) if number is not None else None
    if alive.cone and not exits and last_step is not None and last_step.order >= calls[-1].before:
        return Explanation("no-backward", f"backward has not been called since {name} was used",
                           "call backward() on a value that depends on it", last_step.line)  # fmt: skip
    where = describe(notes.root_at(calls[-1]))
    if number is None or not notes.users.get(number):
        facts = [f"watched {since}: no operation used it"]
        if where is not None:
            facts.append(f"the value that backward was called on was computed at {where}")
        anew = _made_anew(t, notes)
        if anew is not None:
            return Explanation(
                "not-ancestor",
                f"{name} was not used to compute the value that backward() was called on: it is a copy that this line made, and "
                "what the loss was computed from is another one",
                "make it once, in __init__, keep it there, and give that one to the optimizer",
                anew,
                facts,
            )
        where = defined_at(t) or where
    else:
        used = describe(notes.last_use(number))
        where = used if used is not None and is_lost(used) else where
        facts = ["nothing computed from it was observed in the loss"]
        facts += (
            [
                "it left the graph here; if the loss was made from that value, this is the cut:",
                *shown,
            ]
            if shown
            else []
        )
    return Explanation(
        "not-ancestor",
        f"{name} was not used to compute the value that backward() was called on",
        "use it in the computation of the loss",
        where,
        facts,
    )


def _made_anew(t: Tensor, notes: Watch) -> Line | None:
    """The line that made a leaf which no module holds: in a property or another function that makes a
    new one at each call, or as a copy of another leaf, for an optimizer.
    """
    about, number = notes.about(t), notes.known(t)
    copied = number is not None and bool(notes.makers.get(number))
    on, switched = about.get("requires_grad", (False, None))
    line = describe(switched if copied and on else about.get("born"))
    if line is None or defined_at(t) is not None:
        return None
    scope = scope_at(line.file, line.line)
    inside = isinstance(scope, ast.FunctionDef) and scope.name != "__init__"
    return line if inside or copied and notes.optimized(t) else None


def _by_source(
    exits: list[NotedStep], number: int, name: str, notes: Watch, calls: list[BackwardCall]
) -> Explanation | None:
    """Python numbers, NumPy arrays and indices are followed through the user's source, from where a
    value left to where the loss was made.
    """
    goals = notes.sites_of(calls[-1])
    for step in exits:
        # what used it was no operation
        unseen = step.output is None or not notes.users.get(step.output)
        if notes.only_decides(step) or not (unseen or step.kind.startswith("through-")):
            continue
        way: Any = carried(step.site, goals)
        if way is not None:
            # it may have been cut before it left as a number
            before = notes.way(number, set(step.inputs)) or []
            first = first_cut([*before, step]) or step
            found = cut(first, name, [*before, step], f"what was computed from {name}")
            found.evidence.append(
                f"the source shows the path to backward() at {describe(calls[-1].site)}: through {', '.join(way) or 'the same statement'}"
            )
            return found
    return None
