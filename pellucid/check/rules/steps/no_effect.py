"""Settings of an optimizer that are changed where it does not look."""

from __future__ import annotations

import ast
from typing import Any

from ...events import Op, OptimizerInfo, SchedulerStep, Step
from ...rule import Rule
from ..source.places import Place, tree, walk
from .never_true import always_true, constant_counters, never_instances, unread_seeds
from .ramps import Ramps

_KEYS = frozenset("lr momentum weight_decay betas eps alpha".split())
_OWN = frozenset(
    "initial_lr max_lr min_lr base_lr max_momentum base_momentum swa_lr params name param_names".split()
)
_SIZES = {
    "Linear": (("in_features", 1), ("out_features", 0)),
    "Conv1d": (("out_channels", 0),),
    "Conv2d": (("out_channels", 0),),
    "Conv3d": (("out_channels", 0),),
    "Embedding": (("num_embeddings", 0), ("embedding_dim", 1)),
    "BatchNorm1d": (("num_features", 0),),
    "BatchNorm2d": (("num_features", 0),),
}
_WORDS = frozenset("learning_rate learningrate LR Lr rate wd weightdecay decay step_size".split())


class SettingWithoutEffect(Rule):
    """`optimizer.lr = 0.01`, `optimizer.defaults["lr"] = 0.01`: the learning rates that are used are
    those of `optimizer.param_groups`.
    """

    slug = "setting-without-effect"
    id = "PL318"
    severity = "error"
    summary = (
        "a setting of an optimizer or a layer is changed where it is not read, or never changes"
    )

    ops = ("mul",)

    def __init__(self) -> None:
        self._ramps = Ramps()
        self._first: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._told: set[Any] = set()
        self._made: dict[int, tuple[Any, list[float]]] = {}  # by optimizer: where, learning rates
        self._scheduled: set[int] = set()  # numbers of optimizers that have a schedule
        # by place of a schedule's step: the optimizer, how many steps it had, of which other one
        # there were steps since, and how often that was so
        self._left: dict[Any, list[Any]] = {}
        self._last: OptimizerInfo | None = None  # that stepped

    def on_op(self, op: Op) -> None:
        """A loss times a number."""
        if op.grad_enabled:
            self._ramps.see(op)

    def finish(self) -> None:
        """Conditions that are never true, numbers that never change."""
        for place, site, steps in self._ramps.found():
            self.report(
                place,
                f"this integer division gives 0 in all {steps} steps, and so does the weight of a loss term that is computed from it: nothing "
                "learns from that term.",
                evidence={"multiplied_at": site, "steps": steps},
                fix="divide with `/`",
            )
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for find in (never_instances, always_true, constant_counters, unread_seeds):
                for line, message, fix in find(root) if root is not None else ():
                    if (file, line) not in self._told:
                        self._told.add((file, line))
                        self.report(Place(file, line), message, fix=fix)

    def on_scheduler_step(self, event: SchedulerStep) -> None:
        """A schedule of an optimizer that has been replaced by another one."""
        info, last = event.optimizer, self._last
        if info is None or event.site is None:
            return
        self._scheduled.add(info.number)
        held = self._left.setdefault(event.site, [info.number, info.steps, 0])
        idle = held[0] == info.number and held[1] == info.steps
        held[:2] = info.number, info.steps
        if not idle or last is None or last.number <= info.number:
            held[2] = 0
            return
        again = last.site == info.site
        if not again and not {v.id for v in last.params()} & {v.id for v in info.params()}:
            held[2] = 0
            return
        held[2] += 1
        if held[2] == 2 and last.number not in self._scheduled:
            self.report(
                event.site if again else last.site,
                f"the optimizer of this {event.scheduler} no longer steps. Another {last.class_name} was created at the same line and has no "
                "schedule, so its rate never changes."
                if again
                else f"this {last.class_name} takes over the parameters of an optimizer with a {event.scheduler} but gets no schedule itself. "
                "Its rate never changes, and the schedule continues for the old optimizer, which no longer steps.",
                evidence={"schedule_made_at": event.made, "optimizer_made_at": last.site},
                fix="create a new schedule wherever you create a new optimizer",
            )

    def _resumed(self, info: OptimizerInfo) -> None:
        """`load_state_dict` has taken back the learning rate that an optimizer was made with."""
        site, made = self._made.get(info.number, (None, []))
        if info.loaded is None or site is None or info.number in self._scheduled:
            return
        used = info.lrs()
        if used == made or ("loaded", info.number) in self._told:
            return
        # another optimizer of the program began with these rates: no schedule has come to them
        others = [s for n, (s, rates) in self._made.items() if n != info.number and rates == used]
        if not others or any(s == site for s in others):
            return
        if any("initial_lr" in group for group in info.groups):
            return
        self._told.add(("loaded", info.number))
        self.report(
            info.loaded,
            f"this {info.class_name} was created with lr={made[0]:g}, but the state that is loaded here sets it to {used[0]:g}, the rate of the "
            "saved optimizer.",
            evidence={"made_at": site, "lr": used[0]},
            fix="do not load the optimizer's state, or set the rate afterwards: `for group in optimizer.param_groups: group['lr'] = 1e-4`",
        )

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """One is made: what it begins with."""
        self._made[event.number] = event.site, event.lrs()
        optimizer = event.optimizer
        if optimizer is not None:
            keys = {key for group in event.groups for key in group}
            self._first[event.number] = dict(optimizer.defaults), keys | set(vars(optimizer))

    def on_step(self, event: Step) -> None:
        """It steps: has someone set what it does not read?"""
        info = event.optimizer
        self._last = info
        if event.number in (1, 8):
            self._sizes()
        if info.loaded is not None and info.steps in (2, 3):
            self._resumed(info)
        optimizer, known = info.optimizer, self._first.get(info.number)
        if optimizer is None or known is None:
            return
        defaults, keys = known
        for name in _KEYS & vars(optimizer).keys():
            if name in defaults and name not in keys - defaults.keys():
                self._tell(f"optimizer.{name}", name, lambda t, n=name: _attribute(t, n), info)
        for name in _KEYS & defaults.keys():
            if optimizer.defaults.get(name) is not defaults[name] and (
                optimizer.defaults.get(name) != defaults[name]
                and all(g.get(name) != optimizer.defaults.get(name) for g in info.groups)
            ):
                self._tell(
                    f'optimizer.defaults["{name}"]', name, lambda t, n=name: _default(t, n), info
                )
        for group in info.groups:
            for name in group.keys() & _WORDS - keys - _OWN:
                self._tell(f'group["{name}"]', "lr", lambda t, n=name: _item(t, n), info)

    def _sizes(self) -> None:
        """`model.fc.out_features = 3`: the layer keeps the weight that it has."""
        for module in self.session.recorder.names.alive():
            weight = getattr(module, "weight", None)
            for name, axis in _SIZES.get(type(module).__name__, ()):
                size = getattr(module, name, None)
                if not isinstance(size, int) or not hasattr(weight, "shape") or not weight.ndim:
                    continue
                if size == weight.shape[axis] or (type(module).__name__, name) in self._told:
                    continue
                found = self._assignment(lambda t, n=name: _attribute(t, n))
                if found is not None:
                    self._told.add((type(module).__name__, name))
                    self.report(
                        found,
                        f"`{name}` of a {type(module).__name__} is set to {size}, but its weight stays {list(weight.shape)}: the attribute only "
                        "shows the size with which the layer was created.",
                        evidence={"set": name, "to": size, "weight": list(weight.shape)},
                        fix="replace the layer: `model.fc = nn.Linear(in_features, classes)`",
                    )

    def _assignment(self, matches: Any) -> Place | None:
        """The first statement of the program that assigns to what matches."""
        for file in self.session.recorder.files(self.session.script):
            root = tree(file)
            for node in walk(root) if root is not None else ():
                targets = node.targets if isinstance(node, ast.Assign) else []
                if isinstance(node, ast.AugAssign):
                    targets = [node.target]
                found = next((t for t in targets if matches(t)), None)
                if found is not None:
                    return Place(file, found.lineno)
        return None

    def _tell(self, what: str, name: str, matches: Any, info: OptimizerInfo) -> None:
        if (what, info.number) in self._told:
            return
        self._told.add((what, info.number))
        found = self._assignment(matches)
        if found is not None:
            self.report(
                found,
                f"`{what}` is set, but {info.class_name} does not read it: its steps use the values in `param_groups`.",
                evidence={"set": what, "used": [repr(g.get(name)) for g in info.groups]},
                fix=f'for group in optimizer.param_groups: group["{name}"] = ...',
            )


def _attribute(target: ast.expr, name: str) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and target.attr == name
        and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    )


def _item(target: ast.expr, name: str) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == name
    )


def _default(target: ast.expr, name: str) -> bool:
    return (
        _item(target, name)
        and isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Attribute)
        and target.value.attr == "defaults"
    )
