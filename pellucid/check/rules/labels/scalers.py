"""Which scaler brings predictions back to the scale of the targets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..source.places import walk

_KINDS = r"(scaler|sc|norm|normalizer|standardizer|transformer)"


def _named(what: str) -> re.Pattern[str]:
    return re.compile(rf"(^|[._])({what})_?{_KINDS}$|(^|[._]){_KINDS}_?({what})$", re.I)


_INPUTS = _named("x|features?|inputs?")
_TARGETS = _named("y|targets?|labels?|outputs?|prices?")
_PREDICTED = re.compile(r"pred|y_?hat|forecast|(model|net|network)\(|output", re.I)


def scaled_back_by_another(root: ast.Module) -> Iterator[tuple[int, str, str]]:
    """(line, scaler, the one that should be used) of `x_scaler.inverse_transform(prediction)` in a
    program that scales its targets with another one.
    """
    calls = [
        (n.lineno, n.func.attr, ast.unparse(n.func.value), ast.unparse(n.args[0]))
        for n in walk(root)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.args
    ]
    scaling = ("transform", "fit_transform", "fit")
    right = next((s for _, name, s, _ in calls if name in scaling and _TARGETS.search(s)), None)
    for line, name, scaler, given in calls:
        if name == "inverse_transform" and _INPUTS.search(scaler) and _PREDICTED.search(given):
            if right is not None:
                yield line, scaler, right
