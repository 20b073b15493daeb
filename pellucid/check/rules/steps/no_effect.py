"""Settings of an optimizer that are changed where it does not look."""

from __future__ import annotations

import ast
from typing import Any

from ...events import OptimizerInfo, Step
from ...rule import Rule
from ..source.places import Place, tree, walk

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
    summary = "a setting of an optimizer or a layer is changed where it is not read"

    def __init__(self) -> None:
        self._first: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._told: set[Any] = set()

    def on_optimizer(self, event: OptimizerInfo) -> None:
        """One is made: what it begins with."""
        optimizer = event.optimizer
        if optimizer is not None:
            keys = {key for group in event.groups for key in group}
            self._first[event.number] = dict(optimizer.defaults), keys | set(vars(optimizer))

    def on_step(self, event: Step) -> None:
        """It steps: has someone set what it does not read?"""
        info = event.optimizer
        if event.number in (1, 8):
            self._sizes()
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
                        f"`{name}` of a {type(module).__name__} is set to {size}, and its weight stays {list(weight.shape)}: the attribute "
                        "only says what the layer was made with.",
                        evidence={"set": name, "to": size, "weight": list(weight.shape)},
                        fix="put a new layer in its place: `model.fc = nn.Linear(in_features, classes)`",
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
                f"`{what}` is set, and {info.class_name} does not read it: its steps use the numbers in `param_groups`.",
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
