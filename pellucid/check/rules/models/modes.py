"""Train and eval mode at the wrong time."""

from __future__ import annotations

import ast
import re
import weakref
from typing import Any

from ...events import (
    VIEWS,
    Backward,
    Batch,
    Cleared,
    Failure,
    ModuleCall,
    Op,
    Read,
    Site,
    Step,
    Switched,
    Update,
    Value,
    ancestors,
    lineage,
)
from ...rule import Rule
from ..source.origins import defaulted, written_at
from ..source.places import (
    Place,
    assigned_before,
    attribute_place,
    function_around,
    loop_test,
    tree,
    uncalled,
)

DROPOUT = (
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
)


class _Switches:
    """Which call of `train()` or `eval()` has set the mode of each module last."""

    def __init__(self) -> None:
        # by id of a module: number, mode, the module that was switched
        self._last: dict[int, tuple[int, bool, Any]] = {}
        self._count = 0

    def note(self, event: Switched) -> None:
        """A module and all below it are switched."""
        self._count += 1
        held = self._count, event.training, weakref.ref(event.module)
        for module in event.module.modules():
            self._last[id(module)] = held

    def apart(self, layer: Any, root: Any) -> bool:
        """Whether nobody has chosen that a layer has another mode than the model that it is in: the
        switch of the model did not get there, or was none."""
        mine, whole = self._last.get(id(layer)), self._last.get(id(root))
        if mine is None:
            return True
        if mine[1] is not layer.training:
            return False  # assigned by hand, to the layer itself
        owner = mine[2]()
        covers = owner is not None and any(m is root for m in owner.modules())
        return covers and (whole is None or whole[1] is not root.training or mine[0] <= whole[0])


_GRADIENTS = re.compile(r"no_grad|set_grad_enabled|inference_mode")


class _Pass:
    """One call of a whole model in train mode: what in it depends on the mode, and what became of
    its result.
    """

    __slots__ = ("call", "inputs", "kinds", "outside", "place", "read")

    def __init__(self, call: ModuleCall, stack: list[Site]) -> None:
        self.call = call
        # the places that led to the call
        self.outside = stack[stack.index(call.site) + 1 :] if call.site in stack else []
        self.inputs = {v.number for v in call.inputs}
        self.kinds: dict[str, str] = {}  # "dropout" or "batch norm" -> path of the first such layer
        self.read: Site | None = None  # a number made of it was read
        self.place: Any = None  # of the line to change, when it is not the call


class EvalInTrainMode(Rule):
    """A model that is only evaluated should be in eval mode: dropout off, batch norm with its
    running statistics.
    """

    slug = "eval-in-train-mode"
    id = "PL401"
    severity = "error"
    summary = "validation with dropout or batch norm in train mode"
    ops = (
        *DROPOUT,
        "batch_norm",
        "instance_norm",
        "lstm",
        "gru",
        "rnn",
        "multi_head_attention_forward",
        "scaled_dot_product_attention",
    )

    def __init__(self) -> None:
        # by number of the root call; those that were trained on are taken out
        self._passes: dict[int, _Pass] = {}
        self._sites: dict[Site | None, int] = {}  # how many are kept by place
        self._trained_sites: set[tuple[Site | None, bool]] = set()
        # by place of a call that was trained on: the places outside of it
        self._led_to_training: dict[Site | None, set[Site]] = {}
        self._trained_models: set[int] = set()
        # by id of a model: the step in which it was trained last
        self._trained_last: dict[int, int] = {}
        # by place of a call without gradients whose result came into a loss, and model: the first
        # such call, the steps
        self._teaching: dict[Any, list[Any]] = {}
        self._trains: dict[int, Site | None] = {}  # where train() was called on a model
        self._frozen_steps: dict[
            Any, tuple[ModuleCall, set[int]]
        ] = {}  # steps in which a frozen batch norm had statistics of the batch
        self._switches = _Switches()
        # by place of `eval()`: weak references to the models
        self._evals: dict[Site, list[Any]] = {}
        # places of calls of whole models, and ids of these
        self._called: set[tuple[Site, int]] = set()
        self._outside: dict[
            int, tuple[Any, int]
        ] = {}  # by id of a layer that no model has registered: itself, number of its first call

    def on_op(self, op: Op) -> None:
        """A layer that behaves differently in train mode."""
        call = op.module
        if (
            call is not None
            and not call.root.training
            and op.name == "batch_norm"
            and op.direct
            and not op.grad_enabled
        ):
            if (
                op.arg("training")
                and op.arg("running_mean") is not None
                and op.written("training") in ("True", None)
            ):
                self.report(
                    op.site,
                    f"batch norm uses the batch statistics (and updates the running ones) although {call.path} is in eval mode.",
                    evidence={"module": call.path, "step": op.step},
                    fix="pass the mode: `F.batch_norm(..., training=self.training)`, or use nn.BatchNorm1d",
                )
        if call is None:
            return
        place: Any = None
        if not call.root.training:
            place = self._left_on(op, call)
            if place is None:
                return
        self._frozen(op)
        kind = _depends(op)
        if kind is None:
            return
        root = call.root
        held = self._passes.get(root.number)
        if held is None:
            if (root.site, root.grad_enabled) in self._trained_sites or self._sites.get(
                root.site, 0
            ) >= 50:
                return
            held = self._passes[root.number] = _Pass(root, self.session.recorder.callers())
            self._sites[root.site] = self._sites.get(root.site, 0) + 1
            held.place = place
        held.kinds.setdefault(kind, call.path)

    def _left_on(self, op: Op, call: ModuleCall) -> Any:
        """The line to change when a layer is in train mode in a model that is in eval mode, and
        nobody has chosen so; else None.
        """
        layer, root = call.module, call.root.module
        if (
            layer is None
            or root is None
            or op.direct
            or not call.training
            or call is call.root
            or call.made is None
        ):
            return None
        names, top = self.session.recorder.names, call
        while top.parent is not None and top.parent.training:
            top = top.parent
        if (
            top is not call
            and top.parent is not None
            and top.module is not None
            and names.inner_path(root, top.module) is None
        ):
            kept = (
                self._outside.setdefault(
                    id(top.module), (weakref.ref(top.module), call.root.number)
                )[0]()
                is top.module
            )
            return (
                _held_in_list(self.session.recorder, root, top.module)
                if kept and id(top.module) in self._trained_models
                else None
            )
        if names.inner_path(root, layer) is None:
            held = self._outside.setdefault(id(layer), (weakref.ref(layer), call.root.number))
            kept = held[0]() is layer and held[1] != call.root.number
            return call.made if kept and (call.parent is None or not call.parent.training) else None
        if not self._switches.apart(layer, root):
            return None
        return _mode_set(self.session.recorder, root, False) or call.root.site

    def on_switch(self, event: Switched) -> None:
        """`train()` of a whole model."""
        self._switches.note(event)
        if event.training:
            self._trains[id(event.module)] = event.site
        elif event.site is not None and len(self._evals) < 64:
            self._evals.setdefault(event.site, []).append(weakref.ref(event.module))

    def on_module_enter(self, call: ModuleCall) -> None:
        """Which models are called where."""
        if call.parent is None and call.site is not None and len(self._called) < 256:
            self._called.add((call.site, id(call.module)))

    def _other_switched(self, call: ModuleCall) -> Any:
        """The last line before a call, in the same function, that puts another model into eval
        mode, one that the function never calls.
        """
        site, module = call.site, call.module
        function = function_around(site.file, site.line) if site is not None else None
        if function is None or site is None or module is None:
            return None

        def inside(place: Site) -> bool:
            return place.file == site.file and function.lineno <= place.line <= (
                function.end_lineno or 0
            )

        used = {key for place, key in self._called if inside(place)}
        found = []
        for place, refs in self._evals.items():
            others = [m for ref in refs if (m := ref()) is not None]
            covers = any(m is module for other in others for m in other.modules())
            if (
                inside(place)
                and place.line <= site.line
                and others
                and not covers
                and not used & {id(m) for m in others}
            ):
                found.append(place)
        return max(found, key=lambda place: place.line, default=None)

    def _frozen(self, op: Op) -> None:
        """Batch norm whose weights are frozen, as those of the layer before it, while its running
        statistics are not.
        """
        weight = op.args.get("weight")
        if (
            op.name != "batch_norm"
            or not isinstance(weight, Value)
            or weight.requires_grad
            or not weight.is_leaf
            or not op.grad_enabled
        ):
            return
        if (
            not op.arg("training")
            or op.arg("running_mean") is None
            or op.module is None
            or op.direct
        ):
            return
        x = op.args.get("input")
        made = (
            next(
                (o for o in lineage(x) if o.name in ("linear", "conv1d", "conv2d", "conv3d")), None
            )
            if isinstance(x, Value)
            else None
        )
        matrix = made.args.get("weight") if made is not None else None
        if not isinstance(matrix, Value) or matrix.requires_grad:
            return
        root = op.module.root
        module = root.module
        if module is None or not any(p.requires_grad for p in module.parameters()):
            return
        self._frozen_steps.setdefault((id(module), op.module.path), (root, set()))[1].add(op.step)

    def on_backward_begin(self, event: Backward) -> None:
        """Model calls that lead to this loss are training."""
        for op in ancestors(event.roots):
            if op.module is None:
                continue
            root = op.module.root
            self._trained_sites.add((root.site, root.grad_enabled))
            held = self._passes.pop(root.number, None)
            if held is not None:
                if not root.grad_enabled and held.place is None:
                    self._teaching.setdefault((root.site, id(root.module)), [held, set()])
                self._sites[root.site] -= 1
                self._led_to_training.setdefault(root.site, set()).update(held.outside)
            module = root.module
            if module is not None:
                self._trained_models.add(id(module))
                if root.grad_enabled:
                    self._trained_last[id(module)] = event.step
                elif self._teaching and (taught := self._teaching.get((root.site, id(module)))):
                    taught[1].add(event.step)

    def on_read(self, event: Read) -> None:
        """A number made of model results is looked at."""
        if not self._passes or event.how == "repr" and event.value.numel > 1:
            return
        for op in ancestors([event.value]):
            held = self._passes.get(op.module.root.number) if op.module is not None else None
            # not by a layer, inside of the call
            if held is not None and held.read is None and event.site != held.call.site:
                held.read = event.site

    def finish(self) -> None:
        """Passes that nobody trained on, of models that were trained elsewhere."""
        for (module, path), (root, steps) in self._frozen_steps.items():
            if len(steps) >= 3 and module in self._trained_models:
                self.report(
                    self._trains.get(module) or root.site,
                    f"{path} is frozen, and so is the layer before it, but it is in train mode: it uses the statistics of each batch, and "
                    "its running statistics drift away from those its weights were trained with.",
                    evidence={"layer": path, "steps": len(steps), "called_at": root.site},
                    fix="put the frozen part into eval mode after each `train()`, preferably by overriding `train(self, mode=True)`",
                    severity="warning",
                )
                break
        for held, steps in self._teaching.values():
            call = held.call
            last = self._trained_last.get(id(call.module), call.step)
            if len(steps) < 3 or last >= call.step or call.module is None or self._repeated(held):
                continue
            kinds = " and ".join(f"{kind} ({path})" for kind, path in held.kinds.items())
            self.report(
                call.site,
                f"{call.path}, whose training has ended, gives another model its targets or inputs here in train mode: "
                f"{kinds} {'act' if len(held.kinds) > 1 else 'acts'} as in training.",
                evidence={"layers": held.kinds, "trained_last": last, "step": call.step},
                fix=f"call `{call.path}.eval()` once it is trained",
            )
        for held in self._passes.values():
            call = held.call
            module = call.module
            if held.read is None or (call.site, call.grad_enabled) in self._trained_sites:
                continue
            if (
                module is not None
                and id(module) not in self._trained_models
                and held.place is None
                and not self._is_copy(module)
            ):
                continue
            if held.place is None and self._repeated(held):
                continue
            kinds = " and ".join(f"{kind} ({path})" for kind, path in held.kinds.items())
            acts = "act" if len(held.kinds) > 1 else "acts"
            whole = f"{call.path} is evaluated here in train mode"
            bare = (
                uncalled(self.session.recorder.files(self.session.script), "eval")
                if not any(ref() is module for refs in self._evals.values() for ref in refs)
                else None
            )
            self.report(
                held.place
                or self._overridden(call)
                or bare
                or self._other_switched(call)
                or self._parting(held),
                f"{whole if held.place is None else f'eval() of {call.path} does not reach all of it'}: {kinds} "
                f"{acts} as in training, so the numbers are not those of the trained model.",
                evidence={
                    "layers": held.kinds,
                    "read_at": str(held.read),
                    "grad_enabled": call.grad_enabled,
                    "step": call.step,
                },
                fix=f"call `{call.path}.eval()` before evaluating, and `{call.path}.train()` before training continues"
                if held.place is None
                else "keep the layer as an attribute or in an nn.ModuleList, and switch with `eval()` and `train()` alone, which reach "
                "every layer",
            )

    def _parting(self, held: _Pass) -> Site | None:
        """The call; of a line that training runs through, too, the innermost place before it that
        training does not, if it is outside of its function that gradients are switched off: who
        decides the one decides the other."""
        site = held.call.site
        trained = self._led_to_training.get(site)
        function = (
            function_around(site.file, site.line)
            if site is not None and trained is not None
            else None
        )
        if (
            trained is None
            or function is None
            or held.call.grad_enabled
            or _GRADIENTS.search(ast.unparse(function))
        ):
            return site
        return next((place for place in held.outside if place not in trained), site)

    def _overridden(self, call: ModuleCall) -> Any:
        """Where a `train` of the model's own ignores the mode that it is asked for, if `eval()` was
        called and it is in train mode.
        """
        module = call.module
        last = self._switches._last.get(id(module))
        return (
            _mode_set(self.session.recorder, module, True)
            if module is not None and last is not None
            else None
        )

    def _is_copy(self, module: Any) -> bool:
        """Whether a model that is not trained itself has its parameters from one that is: a running
        average, a best state, a checkpoint.
        """
        shapes = [tuple(p.shape) for p in module.parameters()]
        if not shapes:
            return False
        recorder = self.session.recorder
        changed = any(
            v.version > 0 or v.id in recorder.filled
            for v in (recorder.value(p) for p in module.parameters())
        )
        return changed and any(
            id(other) in self._trained_models
            and type(other) is type(module)
            and [tuple(p.shape) for p in other.parameters()] == shapes
            for other in recorder.names.alive()
        )

    def _repeated(self, held: _Pass) -> bool:
        """Monte Carlo dropout: the same input goes through the model several times on purpose."""
        same = [
            p
            for p in self._passes.values()
            if p.call.site == held.call.site and held.inputs & p.inputs
        ]
        return len(same) > 1 and len({p.call.step for p in same}) < len(same)


def _held_in_list(recorder: Any, root: Any, module: Any) -> Any:
    """Where a module that is trained by itself is put into a plain list or dictionary of another."""
    for name, held in vars(root).items():
        items = (
            held.values()
            if isinstance(held, dict)
            else held
            if isinstance(held, (list, tuple))
            else ()
        )
        if not name.startswith("_") and any(item is module for item in items):
            return attribute_place(recorder, root, name)
    return None


def _depends(op: Op) -> str | None:
    """Which layer it is whose result depends on the mode, None when it acts as in eval mode."""
    if op.name in ("batch_norm", "instance_norm"):
        return "batch norm" if op.arg("training") and op.arg("running_mean") is not None else None
    if op.name in ("lstm", "gru", "rnn"):
        return "dropout" if op.arg("training") and op.arg("dropout") else None
    if op.name in ("multi_head_attention_forward", "scaled_dot_product_attention"):
        return "dropout" if op.arg("dropout_p") and op.arg("training", True) else None
    if not op.arg("training", True) or not op.arg("p", 0.5) or op.module is None:
        return None
    # Of the functional form only one that follows the mode: `F.dropout(x, p, self.training)`.
    return "dropout" if not op.direct or "training" in (op.written("training") or "") else None


class _EvalPass:
    """One call of a whole model in eval mode with gradients, and the layers in it that are off."""

    __slots__ = ("call", "layers")

    def __init__(self, call: ModuleCall) -> None:
        self.call = call
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
        self._begun: dict[int, Site | None] = {}  # where it was put into train mode last
        self._switches = _Switches()

    def on_switch(self, event: Switched) -> None:
        """`eval()` or `train()`."""
        self._switches.note(event)
        self._evals.pop(id(event.module), None)
        if event.training:
            self._begun[id(event.module)] = event.site
        else:
            self._evals[id(event.module)] = event.site

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
                or id(layer) not in self._switches._last
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
        if not self._passes or not event.accumulated:
            return
        reached: dict[int, _EvalPass] = {}
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
                return  # a part in train mode, another in eval mode: somebody has chosen
            if root.number in self._passes:
                reached[root.number] = self._passes[root.number]
        for held in reached.values():
            module = held.call.module
            own = {id(p) for p in module.parameters()} if module is not None else set()
            for a in event.accumulated:
                if id(a.value.tensor) in own:
                    self._waiting[a.value.id] = held
        self._passes = {n: p for n, p in self._passes.items() if n not in reached}

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
        site = self._evals.get(id(op.module.module)) if op.module is not None else None
        return defaulted(site) if site is not None and _never_measured(op) else None

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
            made = self._evals.get(id(call.module))
            place = (_cause_of(made) or _left_at(made)) if made is not None else None
            begun = self._begun.get(id(call.module))
            if (
                place is None
                and made is not None
                and begun is not None
                and begun.code is call.site.code is not made.code
            ):
                # once, before a loop in which another function puts it into eval mode
                place = begun
            if call.training and call.module is not None:
                own = next(
                    (
                        place
                        for _, _, op in found.layers
                        if (place := self._by_default(op)) is not None
                    ),
                    None,
                )
                made, place = None, _mode_set(self.session.recorder, call.module, True) or own
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
            (c for c in ast.walk(root) if isinstance(c, ast.ClassDef) and function in c.body), None
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


def _mode_set(recorder: Any, root: Any, training: bool) -> Any:
    """Where the mode of a model is set by other means than `train()` and `eval()` of nn.Module: a
    method of its own, an assignment.
    """
    for kind in type(root).__mro__:
        for name in ("train", "eval"):
            code = getattr(vars(kind).get(name), "__code__", None)
            if code is None or recorder.is_library(code.co_filename):
                continue
            function = function_around(
                code.co_filename, code.co_firstlineno + 1, code.co_firstlineno
            )
            calls = (
                [n for n in ast.walk(function) if isinstance(n, ast.Call)]
                if function is not None
                else []
            )
            switched = [
                c
                for c in calls
                if isinstance(c.func, ast.Attribute)
                and c.func.attr == name
                and "super" in ast.unparse(c.func)
            ]
            if name == "train" and any(c.args or c.keywords for c in switched):
                continue  # it hands the mode on
            return Place(code.co_filename, switched[0].lineno if switched else code.co_firstlineno)
    for file in recorder.files():
        whole = tree(file)
        for node in ast.walk(whole) if whole is not None else ():
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Attribute) and t.attr == "training" for t in node.targets
            ):
                if not (isinstance(node.value, ast.Constant) and node.value.value is not training):
                    return Place(file, node.lineno)
    return None


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


class BatchNormBatchOfOne(Rule):
    """Statistics of a batch of one are those of that row or image alone."""

    slug = "batchnorm-batch-of-one"
    id = "PL403"
    severity = "error"
    summary = "batch norm in train mode on a single row or image"
    ops = ("batch_norm",)

    def __init__(self) -> None:
        # operations on one image, until a backward has gone through them
        self._single: dict[int, Op] = {}
        self._told = False
        self._raised: tuple[BaseException, Op] | None = None
        self._batch: Batch | None = None

    def on_batch(self, event: Batch) -> None:
        """Where batches come from."""
        self._batch = event

    def on_op(self, op: Op) -> None:
        """Batch norm of one image."""
        x = op.arg("input")
        if (
            isinstance(x, Value)
            and op.arg("training")
            and op.arg("running_mean") is not None
            and op.grad_enabled
        ):
            if x.ndim >= 3 and x.shape[0] == 1:
                if len(self._single) >= 256:
                    del self._single[next(iter(self._single))]
                self._single[op.number] = op

    def on_backward_begin(self, event: Backward) -> None:
        """It is trained with: not a dry run to learn shapes."""
        if self._single:
            found = [op for op in ancestors(event.roots) if op.number in self._single]
            for op in sorted(found, key=lambda op: op.number)[: 0 if self._told else 1]:
                self._told = True
                self._tell(
                    op,
                    "the mean and variance come from this image alone, and so do the running statistics",
                )
            self._single.clear()

    def on_error(self, event: Failure) -> None:
        """One row: PyTorch refuses."""
        op = event.op
        if (
            op is not None
            and op.name == "batch_norm"
            and isinstance(op.arg("input"), Value)
            and op.arg("training")
        ):
            shape = op.args["input"].shape
            if len(shape) > 1 and op.args["input"].numel == shape[1]:
                self._raised = (event.exception, op)

    def on_exception(self, event: Failure) -> None:
        """The program ended by it."""
        if self._raised is not None and event.exception is self._raised[0]:
            self._tell(
                self._raised[1],
                "with one value per channel the variance is zero, and PyTorch raises an error",
            )

    def _tell(self, op: Op, what: str) -> None:
        shape = op.args["input"].shape
        layer = op.module.path if op.module is not None else "batch_norm"
        batch, site = self._batch, op.module.root.site if op.module is not None else op.site
        evidence = {"layer": layer, "shape": shape, "step": self.step, "layer_at": op.site}
        fix = "train with batches of two or more, or use a norm without batch statistics (nn.GroupNorm, nn.LayerNorm)"
        if batch is not None and batch.values and batch.values[0].shape[:1] == (1,):
            loader = batch.loader
            evidence |= {
                "loader_at": loader.site,
                "batch_size": loader.batch_size,
                "position": batch.position,
            }
            site, evidence["called_at"] = loader.site or site, site
            if (loader.batch_size or 1) > 1:
                fix = "the last batch of the loader has one sample left over: give it `drop_last=True` for training"
        else:
            site = _split_at(op.module.root.inputs) or site if op.module is not None else site
        self.report(
            site,
            f"{layer} normalizes a batch of one (shape {list(shape)}) in train mode: {what}.",
            evidence=evidence,
            fix=fix,
        )


def _split_at(inputs: tuple[Value, ...]) -> Any:
    """Where a batch was split into parts of one, or where their size is written."""
    for made in (o for v in inputs[:1] for o in lineage(v, limit=8)):
        if (
            made.name in ("split", "chunk", "tensor_split")
            and made.site is not None
            and made.direct
        ):
            given = made.inputs[0].shape[:1] if made.inputs else ()
            if given and given[0] > 1:
                place = 0 if made.method else 1
                return (
                    written_at(made.site, "split_size" if made.name == "split" else "chunks", place)
                    or made.site
                )
    return None


class _Masked:
    """A dropout that was on although the model is in eval mode."""

    __slots__ = ("inputs", "layer", "op", "root", "step")

    def __init__(self, op: Op, root: ModuleCall | None, layer: str) -> None:
        self.op = op
        self.root = root
        self.layer = layer
        self.step = op.step
        self.inputs = {v.number for v in (root.inputs if root is not None else op.inputs)}


class FunctionalDropoutAlwaysOn(Rule):
    """`F.dropout(x)` drops in eval mode too, since its `training` is True unless one says
    otherwise.
    """

    slug = "functional-dropout-always-on"
    id = "PL404"
    severity = "error"
    summary = "dropout that eval() does not switch off"
    ops = (*DROPOUT, "scaled_dot_product_attention", "multi_head_attention_forward", "mul")

    def __init__(self) -> None:
        self._held: dict[Site | None, list[_Masked]] = {}
        # by id of a layer that is not registered: itself, number of its first call
        self._layers: dict[int, tuple[Any, int]] = {}

    def on_op(self, op: Op) -> None:
        """A dropout that is on."""
        if op.name == "mul":
            self._by_hand(op)
            return
        key = "p" if op.name in DROPOUT else "dropout_p"
        call = op.module
        if (
            call is None
            or not op.arg(key, 0.5 if key == "p" else 0.0)
            or not op.arg("training", True)
        ):
            return
        if op.direct:
            if call.training:
                return
            owner, site = call, op.site
        else:
            owner = call.parent
            if owner is None or owner.training or not call.training or call.made is None:
                return
            root = call.root.module
            if (
                root is None
                or self.session.recorder.names.inner_path(root, call.module) is not None
            ):
                # a registered layer: eval() reaches it, and somebody has switched it on again
                return
            layer = call.module
            kept = self._layers.setdefault(id(layer), (weakref.ref(layer), call.root.number))
            if kept[0]() is layer and kept[1] != call.root.number:
                self._held.pop(call.made, None)
                # a layer that is kept beside the model: it is in train mode, which is told as such
                return
            site = call.made
        held = self._held.setdefault(site, [])
        if len(held) < 50:
            held.append(_Masked(op, call.root, owner.path))

    def _by_hand(self, op: Op) -> None:
        """Activations times a mask of zeros that is drawn in eval mode."""
        call = op.module
        if (
            call is None
            or call.training
            or call.root.training
            or not op.direct
            or len(op.inputs) != 2
        ):
            return
        for x, mask in (op.inputs, op.inputs[::-1]):
            if (
                mask.producer is None
                or not x.is_floating_point
                or x.ndim < 2
                or mask.ndim != x.ndim
                or mask.shape[0] not in (1, x.shape[0])
            ):
                continue
            made = [
                o
                for o in lineage(
                    mask, VIEWS | {"gt", "lt", "ge", "le", "bernoulli", "div", "mul"}, 20
                )
                if o.step == op.step
            ]
            names = {o.name for o in made}
            if (
                "bernoulli" in names
                or names & {"rand", "rand_like"}
                and names & {"gt", "lt", "ge", "le"}
            ):
                if any(
                    o.name in ("linear", "conv1d", "conv2d", "embedding", "lstm", "gru", "matmul")
                    for o in ancestors([x], limit=60)
                ):
                    held = self._held.setdefault(op.site, [])
                    if len(held) < 50:
                        held.append(_Masked(op, call.root, call.path))
                return

    def finish(self) -> None:
        """All but Monte Carlo dropout, where the same input goes through several times on purpose."""
        for site, held in self._held.items():
            seen = [
                (m.step, m.root.site if m.root is not None else None, n)
                for m in held
                for n in m.inputs
            ]
            calls = {(m.root.number if m.root is not None else 0): m for m in held}
            passes = [
                (m.step, m.root.site if m.root is not None else None, n)
                for m in calls.values()
                for n in m.inputs
            ]
            if len(set(passes)) < len(passes) or not seen:
                continue
            first = held[0]
            op = first.op
            written = op.written("training") if op.direct else None
            if written == "True" and first.root is not None and _repeated_rows(first.root):
                continue
            if op.name == "mul":
                what = f"a mask is drawn and multiplied with activations although {first.layer} is in eval mode"
                fix = "draw and use it only `if self.training`, or use nn.Dropout"
            elif not op.direct:
                what = f"eval() does not reach this dropout: it is not a registered layer of {first.root.path if first.root else 'the model'}"
                fix = "create the layer in `__init__` and keep it as an attribute or in an nn.ModuleList"
            elif op.name in DROPOUT:
                what = (
                    f"{op.name} is active although {first.layer} is in eval mode: its `training` is "
                    + ("True" if written is not None else "not given, and True by default")
                )
                fix = f"pass the mode: `F.{op.name}(x, p, training=self.training)`, or use nn.{_layer(op.name)}"
            else:
                what = f"{op.name} is active although {first.layer} is in eval mode: it has no mode of its own, and dropout_p is not zero"
                fix = "`dropout_p=p if self.training else 0.0`"
            self.report(
                site,
                what + ".",
                evidence={
                    "p": op.arg("p", 0.5) if op.name in DROPOUT else op.args.get("dropout_p"),
                    "module": first.layer,
                    "calls": len(held),
                    "evaluated_at": first.root.site if first.root is not None else None,
                    "step": first.step,
                },
                fix=fix,
            )


def _repeated_rows(root: ModuleCall) -> bool:
    """Whether the input was repeated by hand: several draws in one batch."""
    repeats = {"repeat", "repeat_interleave", "expand", "tile", "expand_as", "broadcast_to"}
    return any(op.name in repeats for v in root.inputs for op in lineage(v))


def _layer(name: str) -> str:
    return {
        "dropout": "Dropout",
        "alpha_dropout": "AlphaDropout",
        "feature_alpha_dropout": "FeatureAlphaDropout",
    }.get(name, "Dropout" + name[-2:])
