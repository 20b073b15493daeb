"""Find what keeps a tensor's graph alive: the list, attribute, dict, closure or variable that still
refers to it.
"""

from __future__ import annotations

import ast
import gc
import re
from types import FrameType
from typing import Any

from ..._living import living
from ...core.source import Line
from ...core.tape import Node, walk
from ...core.tensor import Tensor
from .memory import OF_TRACEBACKS, Ledger
from .memory import bytes_text as bytes_text
from .naming import holders
from .places import passed_at, stored_at, user_files
from .result import Explanation

_SHOWN = 8


def what_keeps_graphs(module: Any, name: str, frame: FrameType | None) -> Explanation:
    """What keeps graphs alive that lead to the parameters of a module: the answer for the value with the
    longest of them.
    """
    reaching = set().union(*(_reaching(p) for p in module.parameters()))
    kept = {
        id(x): (holder, x)
        for holder, x in holders(frame, lambda x: x._node is not None and id(x.grad_fn) in reaching)
    }
    if not kept:
        return Explanation(
            "none", f"no graph that leads to the parameters of {name} is held by a variable"
        )
    holder, x = max(
        kept.values(), key=lambda one: sum(isinstance(e, Node) for e in walk([one[1]._node]))
    )
    return what_keeps_it(x, holder, frame)


def what_keeps_it(t: Tensor, name: str, frame: FrameType | None) -> Explanation:
    """The answer: `details` has a dict per holder: its name, whether it holds the tensor itself,
    and the nodes that it keeps.
    """
    if t._node is None and not t._rg:
        return Explanation("none", f"{name} has no graph; only its own memory is held")
    ledger = Ledger()
    ledger.add("its values", t._array)
    count = ledger.graph([t._node]) if t._node is not None else 0
    saved = ledger.totals().get("saved for backward", 0)
    goal = t if t._node is None else t.grad_fn
    reaching = _reaching(goal)
    found: list[tuple[str, Tensor]] = []
    for holder, x in holders(
        frame, lambda x: x is t or (x._node is not None and id(x.grad_fn) in reaching)
    ):
        if holder not in {h for h, _ in found}:
            found.append((holder, x))
    own = [(h, x) for h, x in found if x is t]
    others = [(h, x) for h, x in found if x is not t]
    details = [
        {"name": h, "itself": x is t, "nodes": sum(isinstance(e, Node) for e in walk([x._node]))}
        for h, x in found
    ]
    size = (
        f"{count} operations and {bytes_text(saved)} of saved values"
        if t._node is not None
        else "no operations of its own"
    )
    evidence = [*_grouped(own, "the tensor itself"), *_grouped(others, "a value computed from it")]
    kept = [
        h for h, x in found if re.search(r"[.\[]|closure", h) and not (x is t and t._node is None)
    ]
    if not found:
        refs = [
            type(r).__name__
            for r in gc.get_referrers(t)
            if not isinstance(r, (FrameType, list, Node))
        ]
        evidence = (
            [f"it is referred to by objects of type {', '.join(sorted(set(refs)))}"] if refs else []
        )
        return Explanation(
            "unknown",
            f"the graph behind {name} ({size}) is alive, but no variable of the program refers to it",
            "look at the objects shown: gc.get_referrers(tensor)",
            None,
            evidence,
            details,
        )
    if t._node is not None and any(e.saved is None for e in walk([t._node]) if isinstance(e, Node)):
        evidence.append(
            "backward has freed the saved values; the list of operations is still there"
        )
    made = t.grad_fn.line if t._node is not None else None
    kept.sort(key=lambda h: h != name)  # what was asked for goes first
    if not kept and made is not None and _grows(t, made):
        return Explanation(
            "graph-kept",
            f"the graph behind {name} ({size}) grows with every step: this line adds to {name} what it was before, with its graph",
            "add numbers instead of tensors: loss.item(), or tensor.detach() where the values are needed",
            made,
            evidence,
            details,
        )
    if kept:
        fix = "keep numbers instead of tensors: loss.item(), or tensor.detach() where the values are needed"
        if "__traceback__" in kept[0]:
            fix = OF_TRACEBACKS
        if made is not None:
            evidence.append(f"it was computed at {made}")
        text = f"the graph behind {name} ({size}) is kept alive by {kept[0]}" + (
            f" and {len(kept) - 1} more" if len(kept) > 1 else ""
        )
        return Explanation(
            "graph-kept",
            text,
            fix,
            _kept_at(kept[0], made),
            evidence,
            details,
        )
    goes = "that is" if len(found) == 1 else "these are"
    text = f"the graph behind {name} ({size}) is held by {', '.join(h for h, _ in found[:3])} and is freed when {goes} deleted"
    return Explanation("none", text, "", made, evidence, details)


def _grows(t: Tensor, made: Line) -> bool:
    """Whether a line that computes a variable from itself made several of the nodes of its graph, of
    which backward has gone through some.
    """
    nodes = [e for e in walk([t._node]) if isinstance(e, Node)]
    here = sum(n.line == made for n in nodes)
    match = re.match(r"([\w.]+)\s*(?:\+=|=.*\b\1\b)", made.text)
    freed = any(n.saved is None or (n.ext or {}).get("freed_by") for n in nodes)
    return match is not None and here > 1 and freed


def _kept_at(name: str, made: Line | None) -> Line | None:
    """The statement that stores what `name` leads to, in a file of the user's; else where it was made."""
    stored = stored_at(name, user_files(*([] if made is None else [made.file])), made)
    if stored is not None and re.search(r"__(kw)?defaults__|closure", name):
        stored = passed_at(stored, (ast.Lambda,)) or stored  # the function was made there
    return stored or made


def _reaching(goal: Node | Tensor) -> set[int]:
    """Ids of the living nodes from which the graph leads to the goal, itself included when it is a
    node.
    """
    users: dict[int, list[Node]] = {}
    for n in living(Node):
        if hasattr(n, "inputs"):
            for edge in n.inputs:
                if edge is not None:
                    users.setdefault(id(getattr(edge, "node", edge)), []).append(n)
    seen, stack = {id(goal)}, [id(goal)]
    while stack:
        for n in users.get(stack.pop(), ()):
            if id(n) not in seen:
                seen.add(id(n))
                stack.append(id(n))
    return seen


def _grouped(found: list[tuple[str, Tensor]], what: str) -> list[str]:
    """One line per container: `trainer.losses[0] ... [99]` (100 of them)."""
    groups: dict[str, list[str]] = {}
    for h, _ in found:
        groups.setdefault(re.sub(r"\[[^\]]*\](?!.*\[)", "[...]", h), []).append(h)
    lines = []
    for names in list(groups.values())[:_SHOWN]:
        text = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]} ({len(names)} of them)"
        lines.append(f"{text}: {what}")
    if len(groups) > _SHOWN:
        lines.append(f"... and {len(groups) - _SHOWN} more")
    return lines
