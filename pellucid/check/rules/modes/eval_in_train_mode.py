"""Models that are evaluated in train mode."""

from __future__ import annotations

import ast
import re
import weakref
from typing import Any

from ...events import Backward, ModuleCall, Op, Read, Site, Switched, Value, ancestors, lineage
from ...numbers import number_of
from ...rule import Rule
from ..source.places import (
    Place,
    assignments,
    attribute_place,
    function_around,
    tree,
    uncalled,
    walk,
)
from .modes import DROPOUT, Switches, alone, mode_set
from .put_back import PutBack

_GRADIENTS = re.compile(r"no_grad|set_grad_enabled|inference_mode")


class _Pass:
    """One call of a whole model in train mode: what in it depends on the mode, and what became of
    its result.
    """

    __slots__ = (
        "call",
        "copy",
        "inputs",
        "kinds",
        "module",
        "outside",
        "overridden",
        "place",
        "read",
    )

    def __init__(self, call: ModuleCall, stack: list[Site]) -> None:
        self.call = call
        self.module = number_of(call.module)  # which may be gone in the end
        self.copy = False  # its parameters are from a model that is trained
        # the places that led to the call
        self.outside = stack[stack.index(call.site) + 1 :] if call.site in stack else []
        self.inputs = {v.number for v in call.inputs}
        self.kinds: dict[str, str] = {}  # "dropout" or "batch norm" -> path of the first such layer
        self.read: Site | None = None  # a number made of it was read
        self.place: Any = None  # of the line to change, when it is not the call
        self.overridden: Any = None  # the model's own `train` that ignores the mode


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
        # by number of a model: the step in which it was trained last
        self._trained_last: dict[int, int] = {}
        # by place of a call without gradients whose result came into a loss, and model: the first
        # such call, the steps
        self._teaching: dict[Any, list[Any]] = {}
        self._trains: dict[int, Site | None] = {}  # where train() was called on a model
        # by number of a model: the step in which it was put into eval mode last; where it was put back
        # into train mode in the same one
        self._last_eval: dict[int, int] = {}
        self._undone: dict[int, tuple[Site, int]] = {}
        self._frozen_steps: dict[
            Any, tuple[ModuleCall, set[int]]
        ] = {}  # steps in which a frozen batch norm had statistics of the batch
        self._switches = Switches()
        self._put_back = PutBack()
        self._alone: dict[int, bool] = {}  # by number of a root call: `alone`
        self._set: dict[int, Any] = {}  # by number of a model: where its mode is set by other means
        # by place of `eval()`: weak references to the models
        self._evals: dict[Site, list[Any]] = {}
        self._evaluated: set[int] = set()  # numbers of models that were put into eval mode
        self._others: dict[Site | None, Any] = {}  # by place of a call: `_other_switched`
        # places of calls of whole models, and numbers of these
        self._called: set[tuple[Site, int]] = set()
        self._outside: dict[
            int, tuple[Any, int]
        ] = {}  # by number of a layer that no model has registered: itself, number of its first call

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
        if root.grad_enabled and not op.grad_enabled and not op.direct:
            self._put_back.acts(op, kind)
        held = self._passes.get(root.number)
        if held is None:
            if (root.site, root.grad_enabled) in self._trained_sites or self._sites.get(
                root.site, 0
            ) >= 50:
                return
            held = self._passes[root.number] = _Pass(root, self.session.recorder.callers())
            self._sites[root.site] = self._sites.get(root.site, 0) + 1
            held.place = place
            undone, step = self._undone.get(held.module, (None, -1))
            if undone is not None and step == root.step and root.site is not None:
                if undone.code is root.site.code and undone.line < root.site.line:
                    held.overridden = undone
            if not root.grad_enabled and held.overridden is None:
                held.overridden = self._overridden(root)
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
                    number_of(top.module), (weakref.ref(top.module), call.root.number)
                )[0]()
                is top.module
            )
            return (
                _held_in_list(self.session.recorder, root, top.module)
                if kept and number_of(top.module) in self._trained_models
                else None
            )
        if names.inner_path(root, layer) is None:
            held = self._outside.setdefault(
                number_of(layer), (weakref.ref(layer), call.root.number)
            )
            kept = held[0]() is layer and held[1] != call.root.number
            return call.made if kept and (call.parent is None or not call.parent.training) else None
        if not self._switches.apart(layer, root):
            return None
        return mode_set(self.session.recorder, root, False) or call.root.site

    def on_switch(self, event: Switched) -> None:
        """`train()` of a whole model."""
        self._switches.note(event)
        self._put_back.note(event)
        if event.training:
            self._trains[number_of(event.module)] = event.site
            before = self._last_eval.get(number_of(event.module))
            if before == event.step and event.site is not None:
                self._undone[number_of(event.module)] = event.site, event.step
            return
        self._undone.pop(number_of(event.module), None)
        self._last_eval[number_of(event.module)] = event.step
        self._evaluated.add(number_of(event.module))
        if event.site is not None and len(self._evals) < 64:
            self._evals.setdefault(event.site, []).append(weakref.ref(event.module))

    def on_module_enter(self, call: ModuleCall) -> None:
        """Which models are called where."""
        if call.parent is None and call.site is not None and len(self._called) < 256:
            self._called.add((call.site, number_of(call.module)))

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
                and not used & {number_of(m) for m in others}
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
        self._frozen_steps.setdefault((number_of(module), op.module.path), (root, set()))[1].add(
            op.step
        )

    def on_backward_begin(self, event: Backward) -> None:
        """Model calls that lead to this loss are training."""
        for op in ancestors(event.roots):
            if op.module is None:
                continue
            self._put_back.learned(op, event.step)
            root = op.module.root
            self._trained_sites.add((root.site, root.grad_enabled))
            held = self._passes.pop(root.number, None)
            if held is not None:
                if not root.grad_enabled and held.place is None:
                    self._teaching.setdefault((root.site, number_of(root.module)), [held, set()])
                self._sites[root.site] -= 1
                self._led_to_training.setdefault(root.site, set()).update(held.outside)
            module = root.module
            if module is not None:
                self._trained_models.add(number_of(module))
                if root.grad_enabled:
                    self._trained_last[number_of(module)] = event.step
                elif self._teaching and (
                    taught := self._teaching.get((root.site, number_of(module)))
                ):
                    taught[1].add(event.step)

    def on_read(self, event: Read) -> None:
        """A number made of model results is looked at."""
        if self._passes:
            alone(event, self._alone)
        if not self._passes or event.how == "repr" and event.value.numel > 1:
            return
        for op in ancestors([event.value]):
            held = self._passes.get(op.module.root.number) if op.module is not None else None
            # not by a layer, inside of the call
            if held is not None and held.read is None and event.site != held.call.site:
                held.read = event.site
                module = held.call.module
                if module is not None and number_of(module) not in self._trained_models:
                    held.copy = self._is_copy(module)
                if held.call.site not in self._others:
                    self._others[held.call.site] = self._other_switched(held.call)

    def finish(self) -> None:
        """Passes that nobody trained on, of models that were trained elsewhere."""
        for (module, path), (root, steps) in self._frozen_steps.items():
            if len(steps) >= 3 and module in self._trained_models:
                self.report(
                    self._trains.get(module) or root.site,
                    f"{path} is frozen, and so is the layer before it, but it is in train mode: it uses the statistics of each batch, and "
                    "its running statistics drift away from those its weights were trained with.",
                    evidence={"layer": path, "steps": len(steps), "called_at": root.site},
                    fix=(
                        "put the frozen part into eval mode after each `train()`, preferably "
                        "by overriding `train(self, mode=True)`"
                    ),
                    severity="warning",
                )
                break
        for part in self._put_back.parts.values():
            if len(part.steps) < 3:
                continue
            kinds = " and ".join(f"{kind} ({path})" for kind, path in part.kinds.items())
            self.report(
                part.site or part.call.site,
                f"train() of the whole model puts {part.call.path}, which is frozen and was in eval mode, back into train mode: "
                f"{kinds} {'act' if len(part.kinds) > 1 else 'acts'} as in training.",
                evidence={"layers": part.kinds, "called_at": part.call.site},
                fix="override `train(self, mode=True)` of the model: call `super().train(mode)`, then `eval()` of the frozen part",
            )
        for held, steps in self._teaching.values():
            call = held.call
            last = self._trained_last.get(held.module, call.step)
            if len(steps) < 3 or last >= call.step or self._repeated(held):
                continue
            kinds = " and ".join(f"{kind} ({path})" for kind, path in held.kinds.items())
            self.report(
                call.site,
                f"{call.path}, whose training has ended, computes targets or inputs of another model here in train mode: "
                f"{kinds} {'act' if len(held.kinds) > 1 else 'acts'} as in training.",
                evidence={"layers": held.kinds, "trained_last": last, "step": call.step},
                fix=f"call `{call.path}.eval()` once it is trained",
            )
        for held in self._passes.values():
            call = held.call
            if held.read is None or (call.site, call.grad_enabled) in self._trained_sites:
                continue
            if held.module not in self._trained_models and held.place is None and not held.copy:
                continue
            if held.place is None and self._repeated(held):
                continue
            kinds = " and ".join(f"{kind} ({path})" for kind, path in held.kinds.items())
            acts = "act" if len(held.kinds) > 1 else "acts"
            whole = f"{call.path} is evaluated here in train mode"
            bare = (
                uncalled(self.session.recorder.files(self.session.script), "eval")
                if held.module not in self._evaluated
                else None
            )
            self.report(
                held.place
                or held.overridden
                or bare
                or self._others.get(call.site)
                or _taken_over(call.site)
                or self._parting(held),
                f"{whole if held.place is None else f'eval() of {call.path} does not reach all of it'}: {kinds} "
                f"{acts} as in training, so the numbers are not those of the trained model.",
                evidence={
                    "layers": held.kinds,
                    "read_at": str(held.read),
                    "grad_enabled": call.grad_enabled,
                    "step": call.step,
                },
                fix="pass the mode on: `super().train(mode)`"
                if held.overridden and held.place is None
                else f"call `{call.path}.eval()` before evaluating, and `{call.path}.train()` before training continues"
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
        if module is None or self._switches._last.get(number_of(module)) is None:
            return None
        if number_of(module) not in self._set:
            self._set[number_of(module)] = mode_set(self.session.recorder, module, True)
        return self._set[number_of(module)]

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
            number_of(other) in self._trained_models
            and type(other) is type(module)
            and [tuple(p.shape) for p in other.parameters()] == shapes
            for other in recorder.names.alive()
        )

    def _repeated(self, held: _Pass) -> bool:
        """Monte Carlo dropout: the same input goes through the model several times on purpose, in
        a loop.
        """
        same = [
            p
            for p in self._passes.values()
            if p.call.site == held.call.site
            and p.outside == held.outside
            and held.inputs & p.inputs
            and not self._alone.get(p.call.number, False)
        ]
        return len(same) > 1 and len({p.call.step for p in same}) < len(same)


def _taken_over(site: Site | None) -> Place | None:
    """Where an object that only predicts is given its model, for a call `self.model(...)` in it."""
    root, called = (None, None) if site is None else (tree(site.file), site.call)
    function = called.function if called is not None else None
    if site is None or root is None or function is None or not function.startswith("self."):
        return None
    around = [
        n
        for n in walk(root)
        if isinstance(n, ast.ClassDef) and n.lineno <= site.line <= (n.end_lineno or 0)
    ]
    if not around or re.search(r"\.(backward|step|train|parameters)\(", ast.unparse(around[-1])):
        return None
    owner = around[-1]
    made = next(
        (n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
    )
    if made is None:
        return None
    given = {a.arg for a in made.args.args}
    return next(
        (
            Place(site.file, n.lineno)
            for n in assignments(site.file, function, made.lineno, made.end_lineno or 0)
            if isinstance(n.value, ast.Name) and n.value.id in given
        ),
        None,
    )


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
