"""What has set a module to train or eval mode, and the names of the dropout functions."""

from __future__ import annotations

import ast
import weakref
from typing import Any

from ...events import Read, Switched, ancestors
from ...numbers import number_of
from ..source.places import Place, function_around, tree

DROPOUT = (
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
)


class Switches:
    """Which call of `train()` or `eval()` has set the mode of each module last."""

    def __init__(self) -> None:
        # by number of a module: number, mode, the module that was switched
        self._last: dict[int, tuple[int, bool, Any]] = {}
        self._count = 0

    def note(self, event: Switched) -> None:
        """A module and all below it are switched."""
        self._count += 1
        held = self._count, event.training, weakref.ref(event.module)
        for module in event.module.modules():
            self._last[number_of(module)] = held

    def apart(self, layer: Any, root: Any) -> bool:
        """Whether nobody has chosen that a layer has another mode than the model that it is in: the
        switch of the model did not get there, or was none."""
        mine, whole = self._last.get(number_of(layer)), self._last.get(number_of(root))
        if mine is None:
            return True
        if mine[1] is not layer.training:
            return False  # assigned by hand, to the layer itself
        owner = mine[2]()
        covers = owner is not None and any(m is root for m in owner.modules())
        return covers and (whole is None or whole[1] is not root.training or mine[0] <= whole[0])


def alone(event: Read, held: dict[int, bool]) -> None:
    """Note of each call of a whole model behind a number, by number of the call, whether it is the
    only one and was over several rows: then it is no part of an average over repeated passes.
    """
    calls = {
        op.module.root.number: op.module.root
        for op in ancestors([event.value], limit=2000)
        if op.module is not None
    }
    for number, call in calls.items():
        rows = call.inputs[0].shape[0] if call.inputs and call.inputs[0].ndim else 1
        single = len(calls) == 1 and event.value.numel == 1 and rows > 1
        held[number] = single and held.get(number, True)


def mode_set(recorder: Any, root: Any, training: bool) -> Any:
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
            assigned = [
                n
                for n in (ast.walk(function) if function is not None else ())
                if name == "train"
                and isinstance(n, ast.Assign)
                and ast.unparse(n.targets[0]) == "self.training"
            ]
            lines = [n.lineno for n in (switched or assigned)]
            return Place(code.co_filename, lines[0] if lines else code.co_firstlineno)
    for file in recorder.files():
        whole = tree(file)
        for node in ast.walk(whole) if whole is not None else ():
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Attribute) and t.attr == "training" for t in node.targets
            ):
                if not (isinstance(node.value, ast.Constant) and node.value.value is not training):
                    return Place(file, node.lineno)
    return None
