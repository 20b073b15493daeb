"""Memory that is taken and never written: what a program computes with whatever stood there."""

from __future__ import annotations

import ast
from typing import Any

from .places import birthplace, tree, walk

UNFILLED = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_".split()
)
"""Operations whose result is whatever lay in memory, which may look like NaN until it is filled."""

_CALLED = UNFILLED | {"Tensor", "FloatTensor", "DoubleTensor"}


def unwritten(recorder: Any, value: Any) -> Any:
    """The line that took the memory of a value that nothing has written; None for one that was.

    A result of `torch.empty` and the like, or a parameter that is made of one and has never been
    given values.
    """
    made = value.producer
    if made is not None:
        return made.site if made.name in UNFILLED else None
    if value.tensor is None or not value.requires_grad or value.id in recorder.filled:
        return None
    place = birthplace(recorder, value)
    return place if place is not None and _takes_memory(place) else None


def _takes_memory(place: Any) -> bool:
    """Whether a line makes a parameter of memory alone: `nn.Parameter(torch.empty(3))`, and by
    sizes `nn.Parameter(torch.Tensor(3, 4))`."""
    root = tree(place.file)
    for node in walk(root) if root is not None else ():
        if not isinstance(node, ast.Call) or not node.args:
            continue
        inner = node.args[0]
        if not node.lineno <= place.line <= (node.end_lineno or 0) or not isinstance(
            inner, ast.Call
        ):
            continue
        if ast.unparse(node.func).rpartition(".")[2] == "Parameter":
            name = ast.unparse(inner.func).rpartition(".")[2]
            listed = any(isinstance(a, (ast.List, ast.Tuple, ast.ListComp)) for a in inner.args)
            if name in _CALLED and not (listed and name.endswith("Tensor")):
                return True
    return False
