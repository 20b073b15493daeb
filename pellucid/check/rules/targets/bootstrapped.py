"""Targets of value functions, `reward + gamma * value(next_state)`: the end of an episode ignored,
or a gradient that flows into the target.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...events import VIEWS, Backward, Op, Site, Step, Value, ancestors, lineage
from ...rule import Rule
from ..cuts.cutting import leaves_before
from ..models.averages import follows
from ..source.places import Place
from .returns import across_episodes

TIMES = 3  # losses
LOOKS = 12  # by place
_COMPARED = ("mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss")
_CHOICES = VIEWS | frozenset("max amax min amin minimum maximum clamp mean logsumexp".split())
_MASKING = frozenset("where masked_fill setitem index_fill masked_scatter index_put".split())
_MAKES = frozenset(
    "tensor as_tensor from_numpy stack cat getitem index_select float bool to".split()
)


class Bootstrap:
    """A target of the form `reward + gamma * value`, as it was computed."""

    __slots__ = ("masked", "op", "reward", "value")

    def __init__(self, op: Op, reward: Value, value: Value, masked: bool) -> None:
        self.op = op
        self.reward = reward
        self.value = value  # of the next state, with the factor
        self.masked = masked  # something is left out of it, row by row


def bootstrap(value: Value) -> Bootstrap | None:
    """The sum of data and a part of what a model has computed that a value is."""
    for op in lineage(value, VIEWS | {"clamp"}, 12):
        if op.name != "add" or len(op.inputs) != 2:
            continue
        for reward, other in (op.inputs, op.inputs[::-1]):
            if reward.requires_grad or _module(reward) is not None:
                continue
            found = _discounted(other)
            if found is not None:
                return Bootstrap(op, reward, other, found[1])
    return None


def _module(value: Value) -> Op | None:
    return next((o for o in ancestors([value], limit=60) if o.module is not None), None)


def _discounted(value: Value) -> tuple[Value, bool] | None:
    """(what a model gave, whether rows of it are left out), when it is multiplied by a number below
    one.
    """
    factor, masked = False, False
    for _ in range(20):
        op = value.producer
        if op is None or not op.inputs:
            return None
        if op.module is not None:
            return (value, masked) if factor else None
        if op.name == "mul":
            numbers = [v for v in op.args.values() if isinstance(v, (int, float))]
            tensors = list(op.inputs)
            if numbers:
                factor = factor or 0 < numbers[0] < 1
                value = tensors[0]
                continue
            first = next((v for v in tensors if _module(v) is not None), None)
            if first is None or len(tensors) != 2:
                return None
            other = tensors[1] if first is tensors[0] else tensors[0]
            factor = True
            masked = masked or other.numel > 1
            value = first
        elif op.name in _MASKING:
            masked = True
            value = op.inputs[0] if op.name != "where" else op.inputs[-1]
        elif op.name in _CHOICES or op.name in ("sub", "add", "neg"):
            value = op.inputs[0]
        else:
            return None
    return None


class OfTargets(Rule):
    """Looks at losses that compare with such targets."""

    ops: ClassVar[tuple[str, ...]] = (*_COMPARED, "sub")

    def on_op(self, op: Op) -> None:
        """A prediction is compared with a target."""
        if not op.grad_enabled or len(op.inputs) < 2:
            return
        if op.name == "sub" and not op.direct:
            return
        values = [
            op.args.get(k)
            for k in (("input", "other") if op.name == "sub" else ("input", "target"))
        ]
        if not all(isinstance(v, Value) and v.numel > 1 for v in values):
            return
        if not any(v.requires_grad for v in values):
            return
        if self.count("looked", op.site) > LOOKS:
            return
        for target, value in (values, values[::-1]):
            if value.requires_grad and (found := bootstrap(target)) is not None:
                self.target(op, found)
                return

    def target(self, op: Op, found: Bootstrap) -> None:
        """A loss, and the target that it has."""

    def again(self, site: Site | None) -> bool:
        """Whether a place has been seen often enough, now."""
        return self.count("seen", site) == TIMES


class TerminalNotMasked(OfTargets):
    """The value of the state after the last one of an episode is that of the next episode's first."""

    slug = "terminal-not-masked"
    id = "PL213"
    severity = "warning"
    summary = "the target of a value function continues past the end of an episode"
    ops = (*OfTargets.ops, "add")

    def __init__(self) -> None:
        super().__init__()
        # by place of a factor of zeros and ones: elements that were seen, ones among them
        self._factors: dict[Site | None, list[int]] = {}
        self._ones: dict[Site | None, int] = {}  # ends that were seen, by place of the target
        self._other: set[Site | None] = set()

    def target(self, op: Op, found: Bootstrap) -> None:
        """Whether flags of ended episodes were made beside the rewards, and nobody has used them."""
        site = found.op.site
        if found.masked:
            self._other.add(site)
            return
        flags = self._unused(found.reward)
        if flags is None or site in self._other:
            return
        self._ones[site] = self._ones.get(site, 0) + flags[1]
        if self.again(site) and self._ones[site]:
            self.report(
                site,
                "this target adds the value of the next state to every reward, even where the episode has ended. The script "
                f"creates flags for the ends ({flags[0].shape[0]} rows), but never uses them.",
                evidence={"flags_made_at": str(_maker(flags[0])), "ends": self._ones[site]},
                fix="`target = reward + gamma * (1 - done) * next_value`",
            )

    def on_op(self, op: Op) -> None:
        """A loss, or a sum of rewards and values that no loss has seen yet."""
        if op.name != "add":
            super().on_op(op)
        elif (
            len(op.inputs) == 2
            and not any(v.requires_grad for v in op.inputs)
            and (made := op.inputs[1].producer) is not None
            and made.name == "mul"
            and (self.step <= 64 or self.step % 8 == 0)
        ):
            self._kept(op)

    def _kept(self, op: Op) -> None:
        """What the value of the next state is multiplied by: flags of ended episodes as they are
        keep it where the episode has ended, and nowhere else.
        """
        if self.count("looked", op.site) > 40 * LOOKS or bootstrap(op_value(op)) is None:
            return
        value: Value | None = op.inputs[1]
        while value is not None and value.producer is not None and value.producer.name == "mul":
            made = value.producer
            flags = next((v for v in made.inputs if _is_flag(v)), None)
            if flags is not None:
                seen = self._factors.setdefault(made.site, [0, 0])
                seen[0] += flags.numel
                seen[1] += int(flags.numpy().sum())
                return
            value = next((v for v in made.inputs if v.producer is not None), None)

    def finish(self) -> None:
        """Factors that are zero nearly everywhere; loops that add up rewards over several episodes."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            for line, sum_ in across_episodes(file):
                self.report(
                    Place(file, line),
                    f"`{sum_}` continues past the ends of episodes: the rollout resets its environment in between, so the return of one episode "
                    "includes the rewards of the next.",
                    evidence={"sum": sum_},
                    fix="multiply the value of the later steps by `1 - done[t]`",
                )
        for site, (seen, ones) in self._factors.items():
            if seen >= 128 and 0 < ones < 0.25 * seen:
                self.report(
                    site,
                    f"this target keeps the value of the next state in only {ones} of {seen} rows: it is multiplied by `done` instead of "
                    "`1 - done`.",
                    evidence={"rows": seen, "kept": ones},
                    fix="multiply by `1 - done`",
                )

    def _unused(self, reward: Value) -> tuple[Value, int] | None:
        """A tensor of zeros and ones, made where the rewards were, that no operation has taken."""
        source = _source(reward)
        made = source.producer
        if made is None or made.site is None:
            return None
        ops = self.session.recorder.ops_of_step()
        roots: dict[int, int] = {}
        used: set[int] = set()
        candidates: list[Value] = []
        for op in ops:
            for v in op.inputs:
                root = roots.get(v.number, v.number)
                if op.name in VIEWS and op.name != "gather":
                    for out in op.outputs:
                        if v is op.inputs[0]:
                            roots[out.number] = root
                        else:
                            used.add(root)
                else:
                    used.add(root)
            out = op.output
            if (
                op.name in _MAKES
                and out is not None
                and out.producer is op
                and out.numel == reward.numel
                and op.site is not None
                and op.site.code is made.site.code
            ):
                candidates.append(out)
        for value in candidates:
            if roots.get(value.number, value.number) in used or value.number in used:
                continue
            array = value.numpy()
            if array is None or array.dtype.kind not in "bfui" or value.number == source.number:
                continue
            if np.isin(array, (0, 1)).all() and array.mean() <= 0.5:
                return value, int(array.sum())
        return None


def op_value(op: Op) -> Value:
    """The result of an operation, or what stands for it while it is told."""
    out = op.output
    return out if out is not None else op.inputs[0]


def _is_flag(value: Value) -> bool:
    """Whether a value is data of zeros and ones."""
    array = value.numpy() if not value.requires_grad else None
    return array is not None and array.size > 1 and bool(np.isin(array, (0, 1)).all())


def _source(value: Value) -> Value:
    """What a value is a view of."""
    while (
        value.producer is not None
        and value.producer.inputs
        and value.producer.name
        in (
            "unsqueeze",
            "squeeze",
            "view",
            "reshape",
            "float",
            "to",
            "flatten",
        )
    ):
        value = value.producer.inputs[0]
    return value


def _maker(value: Value) -> Site | None:
    return value.producer.site if value.producer is not None else None


class TargetNotDetached(OfTargets):
    """A target, or an advantage, that is trained along: gradients flow into it, too."""

    slug = "target-not-detached"
    id = "PL308"
    severity = "warning"
    summary = "gradients flow into a target or an advantage that should be a constant"
    ops = (*OfTargets.ops, "mul", "log_prob", "kl_div", "cross_entropy", "add", "lerp")

    def __init__(self) -> None:
        super().__init__()
        self._follows: dict[int, int] = {}  # ids of parameters, and of those they are averages of
        # by id of a leaf: the numbers of the optimizers that have stepped on it
        self._trained: dict[int, set[int]] = {}
        self._logs: dict[int, None] = {}  # numbers of log-probabilities

    def on_op(self, op: Op) -> None:
        """A loss, or a weight of log-probabilities."""
        if op.name == "log_prob":
            if len(self._logs) > 4096:
                self._logs.clear()
            self._logs[op.args["result"].number] = None
        elif op.name in ("add", "lerp"):
            if op.inplace and len(self._follows) < 4096 and (pair := follows(op)) is not None:
                self._follows[pair[0]] = pair[1]
        elif op.name == "mul":
            self._multiplied(op)
        else:
            if op.name in _COMPARED or op.name in ("kl_div", "cross_entropy"):
                self._teacher(op)
            if op.name in OfTargets.ops:
                super().on_op(op)

    def on_backward_begin(self, event: Backward) -> None:
        """A loss that flows into an average of the weights that it trains, which an optimizer has,
        too.
        """
        if not self._follows or event.how != "backward":
            return
        if self.count("looked", event.site) > LOOKS:
            return
        leaves = leaves_before(list(event.roots))
        found = [
            i
            for i, of in self._follows.items()
            if i in leaves and of in leaves and i in self._trained
        ]
        if not found:
            return
        uses = [
            o for o in ancestors(event.roots, limit=2000) if any(v.id in found for v in o.inputs)
        ]
        call = uses[0].module
        taught = {i: v for i, v in leaves.items() if i not in found}
        while call is not None and call.parent is not None and _without(call.parent, taught):
            call = call.parent
        site = call.site if call is not None else uses[0].site
        if self.again(site):
            self.report(
                site,
                "gradients flow into this target network, and the optimizer trains it as well: its weights should only follow those "
                "of the other network as their average.",
                evidence={"parameter": leaves[found[0]].name, "parameters": len(found)},
                fix="compute its outputs inside `with torch.no_grad():`, and leave its parameters out of the optimizer",
            )

    def on_step(self, event: Step) -> None:
        """Which optimizers train what."""
        if event.optimizer.steps <= 2:
            for value in event.optimizer.params():
                self._trained.setdefault(value.id, set()).add(event.optimizer.number)

    def _teacher(self, op: Op) -> None:
        """A target with a graph, from a model that another optimizer has trained before."""
        value, target = op.args.get("input"), op.args.get("target")
        if (
            not isinstance(value, Value)
            or not isinstance(target, Value)
            or not (value.requires_grad and target.requires_grad and self._trained)
        ):
            return
        looked = self.count("looked", op.site, "teacher")
        if looked > LOOKS:
            return
        taught, known = leaves_before([value]), leaves_before([target])
        before = [self._trained.get(i, set()) for i in known]
        now = set().union(*(self._trained.get(i, set()) for i in taught))
        if not known or taught.keys() & known.keys() or not all(b - now for b in before):
            return
        if looked > 2 and not all(b & now for b in before):
            return  # the optimizer of the student does not have them
        made = next(
            o for o in ancestors([target], limit=2000) if any(v.id in known for v in o.inputs)
        )
        call = made.module
        while call is not None and call.parent is not None and _without(call.parent, taught):
            call = call.parent
        site = call.site if call is not None else made.site
        if self.count("taught", site) == 2 * TIMES:
            first = next(iter(known.values()))
            self.report(
                site,
                "gradients flow into the targets of this loss, so it also changes the model that computed them, which was trained before.",
                evidence={"parameter": first.name, "loss": str(op.site)},
                fix="compute the targets inside `with torch.no_grad():`, and give the optimizer only the other model's parameters",
            )

    def target(self, op: Op, found: Bootstrap) -> None:
        """Whether the value of the next state has a graph."""
        if not found.value.requires_grad:
            return
        leaf = _leaf(found.value)
        if leaf is not None and self.again(found.op.site):
            self.report(
                found.op.site,
                "gradients flow through the next state's value in this target, so the loss also moves the target towards the prediction.",
                evidence={"parameter": leaf.name, "loss": str(op.site)},
                fix="compute the target inside `with torch.no_grad():`, or from `next_value.detach()`",
            )

    def _multiplied(self, op: Op) -> None:
        """`log_prob * (returns - values)` where both factors have a graph."""
        if len(op.inputs) != 2 or not op.direct or not op.grad_enabled:
            return
        if not self._logs or not all(v.requires_grad for v in op.inputs):
            return
        if self.count("looked", op.site) > LOOKS:
            return
        for log, weight in (op.inputs, op.inputs[::-1]):
            if self._is_log(log) and not self._is_log(weight) and _is_difference(weight):
                leaf = _leaf(weight)
                if leaf is not None and self.again(op.site):
                    self.report(
                        op.site,
                        "gradients flow through the advantage here, so the policy's loss also changes "
                        f"{leaf.name or 'the values it is computed from'}: larger where actions are likely, not more accurate.",
                        evidence={"parameter": leaf.name, "shape": list(weight.shape)},
                        fix="multiply by `advantage.detach()`",
                    )
                return

    def _is_log(self, value: Value) -> bool:
        if value.number in self._logs:
            return True
        return any(v.number in self._logs for o in lineage(value, _OF_LOGS, 12) for v in o.inputs)


_OF_LOGS = VIEWS | {"neg", "exp", "sub", "stack", "cat", "sum", "clamp"}


def _is_difference(value: Value) -> bool:
    """Whether a value is data less something with a graph, as returns less values are."""
    for op in lineage(value, VIEWS | {"div", "mul"}, 8):
        if op.name == "sub" and len(op.inputs) == 2:
            return (
                sum(v.requires_grad for v in op.inputs) == 1 or bootstrap(op.inputs[0]) is not None
            )
    return False


def _without(call: Any, taught: dict[int, Value]) -> bool:
    """Whether a module has none of the student's parameters."""
    module = call.module
    if module is None:
        return False
    own = {id(p) for p in module.parameters()}
    return not any(id(v.tensor) in own for v in taught.values())


def _leaf(value: Value) -> Value | None:
    """A leaf that gets a gradient through a value."""
    return next(iter(leaves_before([value], limit=400).values()), None)
