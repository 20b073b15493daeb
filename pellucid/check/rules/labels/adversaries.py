"""Labels of a generator's loss: those that its adversary learns for real samples."""

from __future__ import annotations

from typing import Any

from ...events import VIEWS, Backward, ModuleCall, Op, Step, Value, lineage
from ...numbers import number_of
from ...rule import Rule
from ..losses.origin import learned_from
from ..losses.sign import terms_of
from .labels import BINARY

TIMES = 3  # steps of the generator
_LARGEST = 1 << 16  # labels that are looked at
_LOSSES = frozenset((*BINARY, "mse_loss"))


class _Verdict:
    """A loss that compares what one model says of another one's output with one label for all."""

    __slots__ = ("adversary", "generator", "label", "op")

    def __init__(self, op: Op, adversary: Any, generator: Any, label: float) -> None:
        self.op, self.label = op, label
        self.adversary, self.generator = adversary, generator  # sets of ids of parameters


# Functions of one value that grow with it.
_GROWING = VIEWS | frozenset(
    "mean sum relu leaky_relu elu softplus logsigmoid sigmoid tanh clamp clamp_min exp log float".split()
)
_FALLING = frozenset({"neg", "rsub"})


def pushed(root: Value) -> list[tuple[int, Value]]:
    """(1 where a loss grows with it, else -1; scores) of the scores of models that a loss is made of
    by functions that only grow or only fall.
    """
    found: list[tuple[int, Value]] = []
    waiting = [(1, root)]
    for _ in range(200):
        if not waiting:
            break
        sign, value = waiting.pop()
        made = value.producer
        if made is None:
            continue
        if made.module is not None and not made.module.class_name.endswith("Loss"):
            found.append((sign, value))
        elif made.name in _GROWING and made.inputs:
            waiting.append((sign, made.inputs[0]))
        elif made.name in _FALLING and made.inputs:
            waiting.append((-sign, made.inputs[0]))
        elif made.name in ("add", "sub"):
            first = isinstance(made.args.get("input"), Value)
            for k, v in enumerate(made.inputs[:2]):
                second = k == 1 or not first
                waiting.append((-sign if made.name == "sub" and second else sign, v))
        elif made.name in ("mul", "div") and len(made.inputs) == 1:
            numbers = [made.args.get(k) for k in ("other", "input")]
            number = next((n for n in numbers if isinstance(n, (int, float))), 0)
            if number:
                waiting.append((sign if number > 0 else -sign, made.inputs[0]))
    return found


class _Push:
    """Which way a loss moves what an adversary says of a generator's output, and of other samples."""

    __slots__ = ("adversary", "generator", "other", "sign", "site")

    def __init__(self, sign: int, site: Any, adversary: Any, generator: Any) -> None:
        self.sign, self.site = sign, site
        self.adversary, self.generator = adversary, generator
        self.other = 0  # the sign of its scores of other samples


def pushes(root: Value) -> list[_Push]:
    """What a loss does to an adversary's scores."""
    found, others = [], []
    for sign, scores in pushed(root):
        calls = _calls(scores)
        if calls is None:
            made = scores.producer
            if made is not None and made.module is not None:
                others.append((sign, _parameters(made.module.root)))
            continue
        adversary, generator = (_parameters(call) for call in calls)
        if adversary and generator and not adversary & generator:
            found.append(_Push(sign, calls[0].site, adversary, generator))
    for push in found:
        push.other = next((s for s, own in others if own == push.adversary), 0)
    return found


class GeneratorLabels(Rule):
    """A generator is trained to get the label that its discriminator learns for generated samples."""

    slug = "generator-labels"
    id = "PL221"
    severity = "error"
    summary = "a generator is trained with the label for generated samples"
    ops = tuple(sorted(_LOSSES))

    def __init__(self) -> None:
        self._verdicts: dict[int, _Verdict] = {}  # by number of the loss, of this step
        self._waiting: list[_Verdict] = []  # of backward calls since the last step
        # by parameters of the adversary: labels that it has learned for a generator's output
        self._learned: dict[frozenset[int], set[float]] = {}
        self._pushes: list[_Push] = []  # of backward calls since the last step
        # by parameters of the adversary: the ways in which it has moved its scores of generated samples
        self._moved: dict[frozenset[int], set[int]] = {}

    def on_op(self, op: Op) -> None:
        """A loss with the same label for all rows."""
        both = learned_from(op)
        if both is None or both[1].numel > _LARGEST:
            return
        scores, target = both
        calls = _calls(scores)
        if calls is None:
            return
        labels = target.numpy()
        if labels is None or not labels.size or labels.min() != labels.max():
            return
        adversary, generator = (_parameters(call) for call in calls)
        if adversary and generator and not adversary & generator:
            if len(self._verdicts) > 64:
                self._verdicts.clear()
            label = round(float(labels.reshape(-1)[0]))
            self._verdicts[op.number] = _Verdict(op, adversary, generator, label)

    def on_backward_begin(self, event: Backward) -> None:
        """Losses that are made small."""
        if event.how == "backward" and len(event.roots) == 1:
            place = ("pushed", event.site)
            if event.roots[0].numel == 1 and self.count(*place) <= 4 * TIMES:
                self._pushes = [*self._pushes[-8:], *pushes(event.roots[0])]
        if not self._verdicts or event.how != "backward" or len(event.roots) != 1:
            return
        for term in terms_of(event.roots[0], {}, {}):
            made = term.value.producer
            held = self._verdicts.pop(made.number, None) if made is not None else None
            if held is not None and term.sign > 0:
                self._waiting.append(held)

    def on_step(self, event: Step) -> None:
        """Whose parameters the losses have moved."""
        waiting, self._waiting = self._waiting, []
        found, self._pushes = self._pushes, []
        if not waiting and not found:
            return
        stepped = {number_of(v.tensor) for v in event.optimizer.params()}
        for push in found:
            moved = self._moved.setdefault(push.adversary, set())
            if stepped & push.adversary and not stepped & push.generator:
                if push.other == -push.sign:
                    moved.add(push.sign)
            elif stepped & push.generator and not stepped & push.adversary:
                if moved == {push.sign}:
                    self._same_way(push)
        for held in waiting:
            learned = self._learned.setdefault(held.adversary, set())
            if stepped & held.adversary and not stepped & held.generator:
                learned.add(held.label)
            elif stepped & held.generator and not stepped & held.adversary:
                if learned == {held.label}:
                    self._told(held)

    def _same_way(self, push: _Push) -> None:
        if self.count("told", push.site) == TIMES:
            way = "down" if push.sign > 0 else "up"
            self.report(
                push.site,
                f"the generator's loss moves the adversary's scores of generated samples {way}, as the adversary's own loss does: the generator "
                "learns samples that are easy to recognize.",
                evidence={"scores": way},
                fix="turn the sign of this term of the generator's loss",
            )

    def _told(self, held: _Verdict) -> None:
        if self.count("told", held.op.site) == TIMES:
            self.report(
                held.op.site,
                f"the generator is trained to get the label {held.label:g}, which the discriminator learns for generated samples: it learns samples "
                "that are easy to recognize.",
                evidence={"label": held.label, "loss": held.op.name},
                fix="give the generator's loss the label of real samples",
            )


def _calls(scores: Value) -> tuple[ModuleCall, ModuleCall] | None:
    """The call of the model that gave scores, and that of the model that gave its input."""
    through = VIEWS | {"sigmoid", "squeeze", "mean"}
    made = next((o for o in lineage(scores, through, 12) if o.module is not None), None)
    call = made.module.root if made is not None and made.module is not None else None
    if call is None or not call.inputs:
        return None
    through = VIEWS | {"cat", "add", "mul", "sub", "tanh", "sigmoid"}
    for value in call.inputs:
        for op in lineage(value, through, 24):
            if op.module is not None and op.module.root is not call:
                return call, op.module.root
    return None


def _parameters(call: ModuleCall) -> frozenset[int]:
    """The ids of a model's parameters."""
    module = call.module
    return frozenset() if module is None else frozenset(number_of(p) for p in module.parameters())
