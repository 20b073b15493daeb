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
        if not waiting:
            return
        stepped = {number_of(v.tensor) for v in event.optimizer.params()}
        for held in waiting:
            learned = self._learned.setdefault(held.adversary, set())
            if stepped & held.adversary and not stepped & held.generator:
                learned.add(held.label)
            elif stepped & held.generator and not stepped & held.adversary:
                if learned == {held.label}:
                    self._told(held)

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
