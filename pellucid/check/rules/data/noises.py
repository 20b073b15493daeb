"""A model that is to predict a noise which its input does not contain."""

from __future__ import annotations

import ast
from typing import Any

from ...events import VIEWS, Op, Site, ancestors, lineage, made_by
from ..losses.origin import compared
from ..source.places import Place, function_around, tree

_DRAWS = frozenset("randn randn_like normal rand rand_like".split())
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_DEPTH = 4000


def other_noise(op: Op) -> tuple[Op, Op] | None:
    """(the draw that a loss compares with, the draw that the inputs contain) where these are two of
    the same step and shape, and nothing else in the loss comes from the first.
    """
    both = compared(op)
    if both is None:
        return None
    scores, target = both
    if target.requires_grad:
        scores, target = target, scores
    drawn = made_by(target)
    if drawn is None or drawn.name not in _DRAWS or not scores.requires_grad:
        return None
    inside: Op | None = None
    for made in ancestors([scores], _DEPTH):
        if made is drawn:
            return None
        if made.name != "add" or len(made.inputs) != 2 or made.step != drawn.step:
            continue
        if made.output is not None and made.output.requires_grad:
            continue
        for value in made.inputs:
            part = next((o for o in lineage(value, VIEWS | {"mul"}, 6) if o.name in _DRAWS), None)
            if part is not None and part.step == drawn.step and value.shape == target.shape:
                # data may be noisy themselves: the last noise is the one to predict
                inside = part if inside is None or part.number > inside.number else inside
    return None if inside is None else (drawn, inside)


def noise_place(drawn: Op, inside: Op) -> Any:
    """Where the first noise should have been handed on: the call, in the function that draws it, of
    the one that draws the other.
    """
    a, b = drawn.site, inside.site
    if not isinstance(a, Site) or not isinstance(b, Site) or a.file != b.file or a.code is b.code:
        return b
    helper = function_around(b.file, b.line)
    scope = function_around(a.file, a.line) or tree(a.file)
    if helper is None or scope is None:
        return b
    calls = [
        n.lineno
        for n in ast.walk(scope)
        if isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] == helper.name
    ]
    return Place(a.file, calls[0]) if len(calls) == 1 else b
