"""Models that are trained in eval mode."""

from __future__ import annotations

import ast
from typing import Any

from ...events import (
    Backward,
    Cleared,
    ModuleCall,
    Op,
    Site,
    Step,
    Switched,
    Update,
    Value,
    ancestors,
)
from ...numbers import number_of
from ...rule import Rule
from ..source.origins import defaulted
from ..source.places import Place, assigned_before, function_around, loop_test, tree, uncalled, walk
from .eval_in_train_mode import EvalInTrainMode
from .modes import Switches, mode_set


class _EvalPass:
    """One call of a whole model in eval mode with gradients, and the layers in it that are off."""

    __slots__ = ("call", "layers", "left")

    def __init__(self, call: ModuleCall) -> None:
        self.call = call
        self.left: Site | None = None  # where another part was put back into train mode
        self.layers: list[tuple[str, str, Op]] = []  # kind, path, operation


class TrainInEvalMode(Rule):
    """A model that is trained should be in train mode: dropout on, batch norm with the statistics
    of the batch.
    """

    slug = "train-in-eval-mode"
    id = "PL402"
    severity = "error"
    summary = "training with dropout or batch norm in eval mode"
    supersedes = ("dead-units",)
    ops = EvalInTrainMode.ops

    def __init__(self) -> None:
        # by number of the root call, until a backward has seen them
        self._passes: dict[int, _EvalPass] = {}
        # by `Value.id` of the parameters that got a gradient through them
        self._waiting: dict[int, _EvalPass] = {}
        self._evals: dict[int, Site | None] = {}  # where a module was switched to eval mode
        self._led: dict[int, list[Site]] = {}  # the places that led there
        self._begun: dict[int, Site | None] = {}  # where it was put into train mode last
        self._once: set[int] = set()  # numbers of modules that were ever put into train mode
        self._switches = Switches()
        self._trained: set[int] = set()  # numbers of modules that were trained in train mode

    def on_switch(self, event: Switched) -> None:
        """`eval()` or `train()`."""
        self._switches.note(event)
        self._evals.pop(number_of(event.module), None)
        if event.training:
            self._begun[number_of(event.module)] = event.site
            self._once.add(number_of(event.module))
        else:
            self._evals[number_of(event.module)] = event.site
            self._led[number_of(event.module)] = self.session.recorder.callers()

    def on_op(self, op: Op) -> None:
        """A layer that is off in a pass with gradients."""
        if op.module is None or not op.grad_enabled:
            return
        if op.module.root.training:
            layer, whole = op.module.module, op.module.root.module
            if (
                layer is None
                or op.module.training
                or op.direct
                or layer is whole
                or number_of(layer) not in self._switches._last
            ):
                return
            if not self._switches.apart(layer, whole) and self._by_default(op) is None:
                return
        kind = _switched_off(op)
        if kind is not None:
            root = op.module.root
            if len(self._passes) >= 64 and root.number not in self._passes:
                del self._passes[next(iter(self._passes))]
            self._passes.setdefault(root.number, _EvalPass(root)).layers.append(
                (kind, op.module.path, op)
            )

    def on_backward(self, event: Backward) -> None:
        """Parameters that got a gradient through such a pass."""
        if not event.accumulated:
            return
        if not self._passes:
            if event.step < 16 and self.count("looked") <= 16:
                calls = (o.module.root for o in ancestors(event.roots) if o.module is not None)
                self._trained |= {number_of(call.module) for call in calls if call.training}
            return
        reached: dict[int, _EvalPass] = {}
        beside: set[int] = set()  # other parts, which are in train mode
        for op in ancestors(event.roots):
            if op.module is None:
                continue
            root = op.module.root
            if (
                root.training
                and root.number not in self._passes
                and root.module is not None
                and next(root.module.parameters(), None) is not None
            ):
                beside.add(number_of(root.module))
            if root.number in self._passes:
                reached[root.number] = self._passes[root.number]
        for held in reached.values():
            module = held.call.module
            if beside:
                held.left = self._forgotten(module, beside)
                if held.left is None:
                    continue  # a part in train mode, another in eval mode: somebody has chosen
            own = {id(p) for p in module.parameters()} if module is not None else set()
            for a in event.accumulated:
                if id(a.value.tensor) in own:
                    self._waiting[a.value.id] = held
        self._passes = {n: p for n, p in self._passes.items() if n not in reached}

    def _forgotten(self, module: Any, beside: set[int]) -> Site | None:
        """Where another part was put back into train mode, in the function that has put both into
        eval mode, and this one was trained in train mode before.
        """
        made = self._evals.get(number_of(module)) if module is not None else None
        if made is None or number_of(module) not in self._trained:
            return None
        sites = (self._begun.get(number) for number in beside)
        return next((s for s in sites if s is not None and s.code is made.code), None)

    def on_clear(self, event: Cleared) -> None:
        """Gradients that nobody used: adversarial examples, saliency, Fisher information."""
        for value in event.values:
            self._waiting.pop(value.id, None)

    def on_step(self, event: Step) -> None:
        """Gradients are used."""
        self._used(
            {v.id for v in event.optimizer.params()},
            event.optimizer.name or event.optimizer.class_name,
        )

    def on_update(self, event: Update) -> None:
        """Gradients are used by hand."""
        self._used({event.value.id}, "the update")

    def _by_default(self, op: Op) -> Any:
        """Of a batch norm with the statistics that it was made with: the default that switches it
        to eval mode. Who writes so means it.
        """
        site = self._evals.get(number_of(op.module.module)) if op.module is not None else None
        return defaulted(site) if site is not None and _never_measured(op) else None

    def _copied(self, module: Any) -> Site | None:
        """Where a module was copied from one in eval mode, if nobody has put it into train mode
        since.
        """
        if module is None or number_of(module) in self._once:
            return None
        first = next(iter(module.parameters()), None)
        return self.session.recorder.copied(first) if first is not None else None

    def _used(self, stepped: set[int], who: str) -> None:
        if not self._waiting:
            return
        held = {id(p): p for i in stepped if (p := self._waiting.get(i)) is not None}
        for found in held.values():
            layers = {
                kind: path for kind, path, op in reversed(found.layers) if _trains(op, stepped)
            }
            if not layers:
                continue
            call = found.call
            made = self._evals.get(number_of(call.module))
            place = (_cause_of(made) or _left_at(made)) if made is not None else None
            place = found.left or place
            copied = self._copied(call.module)
            if copied is not None and made is not None:
                place = copied
            begun = self._begun.get(number_of(call.module))
            if (
                place is None
                and made is not None
                and begun is not None
                and begun.code is call.site.code is not made.code
            ):
                # once, before a loop in which another function puts it into eval mode
                place = (
                    _in_the_loop(self._led.get(number_of(call.module), []), call.site, begun)
                    or begun
                )
            if call.training and call.module is not None:
                own = next(
                    (
                        place
                        for _, _, op in found.layers
                        if (place := self._by_default(op)) is not None
                    ),
                    None,
                )
                made, place = None, mode_set(self.session.recorder, call.module, True) or own
            kinds = " and ".join(f"{kind} ({path})" for kind, path in layers.items())
            off = "are" if len(layers) > 1 else "is"
            place = place or uncalled(self.session.recorder.files(self.session.script), "train")
            since = (
                f"since {call.path}.eval() in line {made.line}"
                if made is not None
                else "because it is in eval mode"
            )
            self.report(
                place or made or call.site,
                f"{call.path} is trained in eval mode: {kinds} {off} off, {since}.",
                evidence={
                    "layers": layers,
                    "eval_at": made,
                    "trained_at": call.site,
                    "step": self.step,
                    "stepped_by": who,
                },
                fix=f"call `{call.path}.train()` before training (at the beginning of every epoch, if you evaluate in between)",
            )
        self._waiting = {i: p for i, p in self._waiting.items() if id(p) not in held}


def _in_the_loop(led: list[Site], trained: Site, begun: Site) -> Site | None:
    """The call that led to eval mode, when it stands in the loop that trains, and train mode is set
    outside of that loop only: train mode belongs after the call.
    """
    around = function_around(trained.file, trained.line) or tree(trained.file)
    loops = [
        n for n in (ast.walk(around) if around is not None else ())
        if isinstance(n, (ast.For, ast.While)) and n.lineno <= trained.line <= (n.end_lineno or 0)
    ]  # fmt: skip
    if not loops:
        return None
    inner = loops[-1]
    for site in led:
        if site.code is trained.code and inner.lineno <= site.line <= (inner.end_lineno or 0):
            outside = not inner.lineno <= begun.line <= (inner.end_lineno or 0)
            return site if outside else None
    return None


def _never_measured(op: Op) -> bool:
    """Whether a batch norm has the statistics that it was made with: nobody who keeps a norm as it
    is means these.
    """
    mean, var = op.arg("running_mean"), op.arg("running_var")
    arrays = (
        [v.numpy() for v in (mean, var) if isinstance(v, Value)] if op.name == "batch_norm" else []
    )
    return (
        len(arrays) == 2
        and all(a is not None for a in arrays)
        and not arrays[0].any()
        and bool((arrays[1] == 1).all())
    )


def _cause_of(site: Site) -> Any:
    """The line to change when a switch to eval mode is wrong: the one that worked out the mode, or
    that chose the layers; None: its own.
    """
    call = site.call
    mode = (
        call.keywords.get("mode", call.arguments[0] if call.arguments else None)
        if call is not None
        else None
    )
    if mode is not None and (call.function or "").endswith("train"):
        return assigned_before(site, mode)
    return loop_test(site)


def _left_at(site: Site) -> Any:
    """Of a switch in a context manager the line at whose end it is left, where the mode has to be
    put back: the `yield` of a function, the `__exit__` of a class. None elsewhere."""
    function = function_around(site.file, site.line)
    root = tree(site.file)
    if function is None or root is None:
        return None
    if function.name == "__enter__":
        owner = next(
            (c for c in walk(root) if isinstance(c, ast.ClassDef) and function in c.body), None
        )
        leaves = (
            [f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__exit__"]
            if owner is not None
            else []
        )
        return Place(site.file, leaves[0].lineno) if leaves else None
    if not any("contextmanager" in ast.unparse(d) for d in function.decorator_list):
        return None
    lines = [n.lineno for n in ast.walk(function) if isinstance(n, ast.Yield)]
    return Place(site.file, lines[0]) if len(lines) == 1 else None


def _switched_off(op: Op) -> str | None:
    """Which kind of layer it is that eval mode has switched off in this operation."""
    if op.name in ("batch_norm", "instance_norm"):
        off = (
            not op.arg("training", False)
            if op.name == "batch_norm"
            else not op.arg("use_input_stats", True)
        )
        return "batch norm" if off and op.arg("running_mean") is not None else None
    if op.name in ("lstm", "gru", "rnn"):
        return (
            "dropout"
            if not op.arg("training", True)
            and op.arg("dropout")
            and (op.arg("num_layers") or 1) > 1
            else None
        )
    if op.name == "multi_head_attention_forward":
        return "dropout" if op.arg("dropout_p") and not op.arg("training", True) else None
    if (
        op.name == "scaled_dot_product_attention"
        or op.arg("training", True)
        or not op.arg("p", 0.5)
    ):
        return None
    return None if op.direct and op.written("training") == "False" else "dropout"


def _trains(op: Op, stepped: set[int]) -> bool:
    """Whether parameters that an optimizer updates are in the layer (batch norm), or come before it
    (dropout).
    """
    if op.name in ("batch_norm", "instance_norm"):
        weight = op.arg("weight")
        if isinstance(weight, Value):
            return weight.id in stepped
    if any(v.id in stepped for v in op.inputs):
        return True
    return any(v.id in stepped for made in ancestors(op.inputs) for v in made.inputs)
