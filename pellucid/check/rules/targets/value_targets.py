"""Returns, advantages and targets of value functions that are computed from the wrong state, the wrong
rows or in the wrong direction.
"""

from __future__ import annotations

import ast
import re
import weakref
from typing import Any

import numpy as np

from ...events import VIEWS, Op, Step, Value, ancestors, lineage
from ...numbers import number_of
from ..losses.origin import Repeated
from ..source.places import Place, tree, walk
from .bootstrapped import TIMES, Bootstrap, OfTargets

_REWARDS = re.compile(r"rew|(^|[^a-z])rs?([^a-z]|$)", re.I)
_DISCOUNT = re.compile(r"gamma|discount|\bGAMMA\b|^0?\.9", re.I)
_MANY = 100  # steps in which a network of targets should have changed once
_CHOICES = VIEWS | frozenset(("max", "amax", "mul", "sub", "add"))


class ValueTarget(OfTargets):
    """`reward + gamma * V(s) - V(s)`, a maximum over the rows of a batch, returns that are summed from
    the first reward on.
    """

    slug = "value-target"
    id = "PL225"
    severity = "error"
    summary = (
        "a return, an advantage or a target is computed from the wrong state, rows or direction"
    )
    ops = (*OfTargets.ops, "log_prob", "log_softmax")

    def __init__(self) -> None:
        super().__init__()
        self._repeated = Repeated(looks=16, times=TIMES)
        self._policy = False
        # networks of targets: the first weights as they were, losses since, the place of a target
        self._networks: dict[int, list[Any]] = {}

    def on_op(self, op: Op) -> None:
        """A difference of values, or a prediction that is compared with a target."""
        if op.name in ("log_prob", "log_softmax"):
            self._policy = True
            return
        if op.name == "sub" and op.direct and len(op.inputs) == 2:
            self._difference(op)
        super().on_op(op)

    def target(self, op: Op, found: Bootstrap) -> None:
        """Whether the best action was chosen over the rows."""
        self._network(op, found)
        rows = found.reward.numel
        for made in lineage(found.value, _CHOICES, 20):
            if made.name not in ("max", "amax") or len(made.inputs) != 1:
                continue
            table, axis = made.inputs[0], made.args.get("dim")
            if isinstance(axis, (list, tuple)):
                axis = axis[0] if len(axis) == 1 else None
            if table.ndim != 2 or table.shape[0] != rows or rows < 4 or table.shape[1] < 2:
                continue
            if (axis is None or axis % 2 == 0) and self.again(made.site):
                self.report(
                    made.site,
                    f"the largest value is taken over the {rows} rows of the batch instead of the {table.shape[1]} actions: every row gets the "
                    "value of the best row.",
                    evidence={"shape": list(table.shape), "dim": axis, "target_at": found.op.site},
                    fix="`next_q.max(dim=1).values`",
                )
                return

    def _network(self, op: Op, found: Bootstrap) -> None:
        """The network that a target comes from, when it is another one than is trained."""
        made = next((o for o in ancestors([found.value], limit=60) if o.module is not None), None)
        module = made.module.root.module if made is not None and made.module is not None else None
        first = (
            next((p for p in module.parameters() if p.ndim > 1), None)
            if module is not None
            else None
        )
        if first is None or first.requires_grad or number_of(module) in self._networks:
            return
        array = self.session.recorder.value(first).numpy()
        if array is not None and len(self._networks) < 8:
            self._networks[number_of(module)] = [weakref.ref(first), array.copy(), 0, found.op.site]

    def on_step(self, event: Step) -> None:
        """Whether the networks of targets have changed."""
        for key, held in list(self._networks.items()):
            first = held[0]()
            array = self.session.recorder.value(first).numpy() if first is not None else held[1]
            held[2] = max(held[2], event.optimizer.steps) if held[2] >= 0 else held[2]
            if array is None or not np.array_equal(array, held[1]):
                self._networks[key][2] = -1  # it does

    def _never_updated(self) -> None:
        for _, _, steps, site in self._networks.values():
            if steps >= _MANY and site is not None:
                self.report(
                    _update_at(site.file) or site,
                    f"the target network does not change in the {steps} steps of this run: it never gets the trained weights.",
                    evidence={"target_at": site, "steps": steps},
                    fix="copy the weights more often: `target.load_state_dict(online.state_dict())`",
                    severity="warning",
                )

    def _difference(self, op: Op) -> None:
        """`(reward + gamma * values[t]) - values[t]`."""
        total, value = op.inputs
        made = total.producer
        if made is None or made.name != "add" or len(made.inputs) != 2:
            return
        for part in made.inputs:
            factor = False
            while (m := part.producer) is not None and m.name == "mul" and m.inputs:
                factor = True
                part = m.inputs[0]
            if factor and _same(part, value) and self._repeated.due(op.site):
                if self._repeated.again(op.site):
                    self.report(
                        op.site,
                        "this difference adds the discounted value of the same state that it subtracts, instead of the value of the next state.",
                        evidence={"reward": str(made.site)},
                        fix="`delta = rewards[t] + gamma * values[t + 1] - values[t]`",
                    )
                return

    def finish(self) -> None:
        """Loops over rewards that discount the past; targets of a network that never changes."""
        self._never_updated()
        if not self._policy or not self.step:
            return
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for loop in walk(root) if root is not None else ():
                if isinstance(loop, ast.For) and (found := _forward(loop)) is not None:
                    self.report(
                        Place(file, loop.lineno),
                        f"this loop goes from the first reward to the last, so `{found}` adds earlier rewards. The return of a step is the "
                        "discounted sum of the rewards after it.",
                        evidence={"sum": found},
                        fix="loop over `reversed(rewards)` and insert each return at the front",
                    )


def _update_at(file: str) -> Place | None:
    """The only condition, every so many steps, under which weights are copied."""
    root = tree(file)
    lines = {
        n.lineno
        for n in (walk(root) if root is not None else ())
        if isinstance(n, ast.If)
        and any(isinstance(t, ast.Mod) for t in ast.walk(n.test))
        and re.search(r"load_state_dict\(|\.copy_\(|lerp_?\(|sync|update_target", ast.unparse(n))
    }
    return Place(file, lines.pop()) if len(lines) == 1 else None


def _same(one: Value, other: Value) -> bool:
    if one.number == other.number:
        return True
    a, b = one.producer, other.producer
    if a is None or b is None or a.name != b.name or a.name not in ("getitem", "select"):
        return False
    keys = [{k: v for k, v in o.args.items() if k not in ("input", "result")} for o in (a, b)]
    if any(isinstance(v, Value) for k in keys for v in k.values()):
        return False
    return a.inputs[0].number == b.inputs[0].number and repr(keys[0]) == repr(keys[1])


def _forward(loop: ast.For) -> str | None:
    """The statement `total = reward + gamma * total` of a loop that runs forwards over rewards, and
    keeps each total.
    """
    over = ast.unparse(loop.iter)
    if not _REWARDS.search(over) or re.search(r"reversed|\[::-1\]|flip|, -1\)", over):
        return None
    own = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for node in loop.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, sum_ = node.targets[0].id, node.value
        if not isinstance(sum_, ast.BinOp) or not isinstance(sum_.op, ast.Add):
            continue
        for reward, rest in ((sum_.left, sum_.right), (sum_.right, sum_.left)):
            names = {n.id for n in ast.walk(reward) if isinstance(n, ast.Name)}
            factors = _factors(rest)
            if not names & own or name not in factors or not any(map(_DISCOUNT.search, factors)):
                continue
            if _kept(loop, name):
                return ast.unparse(node)
    return None


def _factors(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _factors(node.left) + _factors(node.right)
    return [ast.unparse(node)]


def _kept(loop: ast.For, name: str) -> bool:
    """Whether each total is put into a list."""
    return any(
        isinstance(n, ast.Call)
        and getattr(n.func, "attr", "") in ("append", "insert", "appendleft")
        and any(name == ast.unparse(a) for a in n.args)
        for n in ast.walk(loop)
    )
