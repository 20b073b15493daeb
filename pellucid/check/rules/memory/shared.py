"""Several rows, entries or names that are one memory: what is written for one shows in all."""

from __future__ import annotations

import ast
import random
import sys
from typing import Any

from ...events import Called, Op, Step, Written, lineage
from ...numbers import number_of
from ...rule import Rule
from ..source.places import Place, function_around, tree, walk

_GROWN = 32  # references to an array that is written in place again and again
_EXPANDS = frozenset("expand expand_as broadcast_to broadcast_tensors as_strided".split())
_ADDING = frozenset("append appendleft push add store extend put".split())
_FILLING = frozenset("append extend add update insert setdefault".split())


class MemoryShared(Rule):
    """`mask = row.expand(n, -1)` and `mask[k] = 1`, `[[0] * n] * m`, `random.shuffle` of a tensor's
    rows, a state that an environment changes in place and a replay buffer keeps.
    """

    slug = "memory-shared"
    id = "PL516"
    severity = "error"
    summary = "rows, entries or names share one memory, and a write to one changes all"
    ops = ("setitem", "add", "sub", "mul", "copy", "fill", "masked_fill", "index_fill", "scatter")
    supersedes = ("loss-at-chance", "same-batch")

    def __init__(self) -> None:
        # by number of an array that is written in place: its references, how often there were more
        self._references: dict[int, tuple[int, int]] = {}
        self._told: set[Any] = set()
        self._stepped: set[int] = set()  # numbers of optimizers

    def on_op(self, op: Op) -> None:
        """A write into a tensor."""
        target = op.inputs[0] if op.inplace and op.inputs else None
        if target is None or op.site is None or target.is_leaf and target.requires_grad:
            return
        tensor = target.tensor
        if tensor is None:
            return
        if op.name != "setitem" or not op.direct:
            self._counted(tensor, op.site)
            return
        strides = tensor.stride()
        for axis in range(_indexed(op.args.get("index", op.args.get("key")), target.ndim)):
            if strides[axis] == 0 and target.shape[axis] > 1:
                made = next(
                    (o for o in lineage(target, _EXPANDS | {"setitem"}) if o.name in _EXPANDS), None
                )
                self._tell(
                    made.site if made is not None and made.site is not None else op.site,
                    f"the {target.shape[axis]} rows of this tensor are a single row that was expanded: a write to one of them changes all.",
                    {"shape": list(target.shape), "written_at": op.site},
                    "expand(...).clone(), or make the tensor with its full size: torch.zeros(rows, columns)",
                )
                return
        self._counted(tensor, op.site)

    def on_step(self, event: Step) -> None:
        """Two parameters of one optimizer that are the same memory: each moves it."""
        steps = event.optimizer.steps
        if steps & (steps - 1) == 0:
            self._of_another(event)
        if event.optimizer.number in self._stepped:
            return
        self._stepped.add(event.optimizer.number)
        seen: dict[int, Any] = {}
        for value in event.optimizer.params():
            tensor = value.tensor
            if tensor is None or not tensor.numel():
                continue
            other = seen.setdefault(tensor.data_ptr(), value)
            place = self._data_assigned() if other is not value else None
            if place is not None and other.shape == value.shape:
                self._tell(
                    place,
                    f"`{other.name}` and `{value.name}` are two parameters that share memory: each has its own gradient, so the optimizer updates "
                    "the same numbers twice per step.",
                    {"parameters": [other.name, value.name]},
                    "share the parameter itself: `self.out.weight = self.emb.weight`",
                )

    def _of_another(self, event: Step) -> None:
        """A second network whose parameters are the memory of those that an optimizer moves."""
        own = {
            t.data_ptr(): t
            for v in event.optimizer.params()
            if (t := v.tensor) is not None and t.numel()
        }
        for root in self.session.recorder.names.roots():
            for path, p in root.named_parameters():
                other = own.get(p.data_ptr()) if p.numel() else None
                if other is None or other is p or other.shape != p.shape:
                    continue
                # of parameters that are trained, `param-shared` tells
                place = None if p.requires_grad else self._data_assigned()
                if place is not None:
                    title = self.session.recorder.names.root_name(root)
                    self._tell(
                        place,
                        f"`{title}.{path}` has the memory of a parameter that an optimizer moves: each step changes both networks, "
                        "so the second one is not a copy.",
                        {"parameter": f"{title}.{path}", "step": event.number},
                        "copy the numbers: `a.data.copy_(b.data)`, or `load_state_dict`",
                    )
                return

    def _data_assigned(self) -> Place | None:
        """The line that gives one parameter the memory of another: `a.weight.data = b.weight.data`."""
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for n in walk(root) if root is not None else ():
                if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]).endswith(".data"):
                    if isinstance(n.value, ast.Attribute):
                        return Place(file, n.lineno)
        return None

    def on_write(self, event: Written) -> None:
        """A write into an array."""
        self._counted(event.target, event.site)

    def _counted(self, thing: Any, site: Any) -> None:
        """Whether more and more entries hold the thing that is written in place."""
        count = sys.getrefcount(thing)
        before, grown = self._references.get(number_of(thing), (count, 0))
        if len(self._references) > 256:
            self._references.clear()
        self._references[number_of(thing)] = count, (grown + 1 if count > before else grown)
        if count < _GROWN or grown < _GROWN // 2 or site is None:
            return
        self._tell(
            self._stored(site) or site,
            f"one array is stored again and again, {count} times so far, and changed in place in between: all stored entries hold the same, newest "
            "values.",
            {"written_at": site, "references": count},
            "store a copy: `state.copy()` or `state.clone()`",
        )

    def _stored(self, site: Any) -> Place | None:
        """The only line that stores what an environment gave."""
        root = tree(site.file)
        lines = (
            {
                n.lineno
                for n in walk(root)
                if isinstance(n, ast.Call)
                and isinstance(n.func, ast.Attribute)
                and n.func.attr in _ADDING
                and n.args
                and any(_given(site.file, n, a) for a in ast.walk(n) if isinstance(a, ast.Name))
            }
            if root is not None
            else set()
        )
        return Place(site.file, lines.pop()) if len(lines) == 1 else None

    def on_call(self, event: Called) -> None:
        """Rows are shuffled by swapping them."""
        if event.name != "shuffle" or not isinstance(event.owner, random.Random) or not event.args:
            return
        rows = event.args[0]
        tensor = isinstance(rows, self.session.engine.Tensor)
        if tensor and rows.ndim >= 1 or type(rows).__name__ == "ndarray" and rows.ndim >= 2:
            self._tell(
                event.site,
                "random.shuffle swaps rows, which are views of the same memory. It overwrites a row before it has copied it, so some rows occur "
                "twice and others are lost.",
                {"shape": list(rows.shape)},
                "rows = rows[torch.randperm(len(rows))]"
                if tensor
                else "numpy.random.shuffle(rows)",
            )

    def finish(self) -> None:
        """`[[0] * n] * m` and `dict.fromkeys(keys, [])`, and a write to one of the entries."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for node in walk(root) if root is not None else ():
                if isinstance(node, ast.Assign) and (what := _repeats(node.value)) is not None:
                    around = function_around(file, node.lineno) or root
                    if any(_written(around, ast.unparse(t), node.lineno) for t in node.targets):
                        self._tell(
                            Place(file, node.lineno),
                            f"`{ast.unparse(node.value)}` holds the same {what} several times: a write to one entry changes all.",
                            {},
                            "create each one separately: `[... for _ in range(n)]`",
                        )

    def _tell(self, place: Any, message: str, evidence: dict[str, Any], fix: str) -> None:
        if place is not None and place.key not in self._told:
            self._told.add(place.key)
            self.report(place, message, evidence=evidence, fix=fix)


def _indexed(index: Any, ndim: int) -> int:
    """How many axes from the first are indexed by one number each."""
    found = 0
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, bool) or not isinstance(part, int) or found == ndim:
            break
        found += 1
    return found


def _repeats(node: ast.expr) -> str | None:
    """ "list" or "dictionary" where an expression holds the same one several times."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for side in (node.left, node.right):
            if isinstance(side, ast.List) and len(side.elts) == 1:
                inner = side.elts[0]
                if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult):
                    inner = inner.left if isinstance(inner.left, ast.List) else inner.right
                if isinstance(inner, (ast.List, ast.ListComp)):
                    return "list"
                if isinstance(inner, (ast.Dict, ast.DictComp)):
                    return "dictionary"
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "dict.fromkeys"
        and len(node.args) == 2
        and isinstance(node.args[1], (ast.List, ast.Dict))
    ):
        return "list" if isinstance(node.args[1], ast.List) else "dictionary"
    return None


def _written(around: ast.AST, name: str, line: int) -> bool:
    """Whether an entry of what a name holds is written into: `x[i][j] = ...`, `x[i].append(...)`."""
    for n in ast.walk(around):
        goals: list[Any] = []
        if isinstance(n, (ast.Assign, ast.AugAssign)) and n.lineno > line:
            goals = list(n.targets) if isinstance(n, ast.Assign) else [n.target]
            goals = [g.value for g in goals if isinstance(g, ast.Subscript)]
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.lineno > line:
            goals = [n.func.value] if n.func.attr in _FILLING else []
        if any(isinstance(g, ast.Subscript) and ast.unparse(g.value) == name for g in goals):
            return True
    return False


def _given(file: str, call: ast.Call, name: ast.Name) -> bool:
    """Whether a name is what a `step` or a `reset` gave."""
    around = function_around(file, call.lineno) or tree(file)
    for n in ast.walk(around) if around is not None else ():
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call):
            if getattr(n.value.func, "attr", "") in ("step", "reset"):
                for t in ast.walk(n.targets[0]):
                    if isinstance(t, ast.Name) and t.id == name.id:
                        return True
    return False
