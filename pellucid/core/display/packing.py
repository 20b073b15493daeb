"""What a node keeps, handed to the user's saved-tensor hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ndarray


def pack(node: Any, save: Callable[[Any], Any]) -> None:
    """Put what `save` returns in the place of each array that a node keeps, or those that PyTorch
    has for it.
    """
    for one in (node,) if node.op.nodes is None else node.op.nodes(node):
        saved = list(one.saved or ())
        for n, (k, _) in enumerate(one.plan.entries):
            if k in ("ins", "outs"):
                saved[n] = type(saved[n])(
                    [save(v) if isinstance(v, ndarray) else v for v in saved[n]]
                )
            elif k in ("in", "out") and isinstance(saved[n], ndarray):
                saved[n] = save(saved[n])
        one.saved, one.versions, one.total = tuple(saved), (), 0
        one.extra()["packed"] = True
