"""Anomaly mode: nodes keep the stack of the call that recorded them, and backward stops at the
first gradient that is not finite.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ...errors import GraphError
from .. import interpret, source
from ..interpret import thread
from ..tape import Node
from ..tensor import Tensor


class Anomaly:
    """The interpreter of a thread in anomaly mode; `check_nan` says whether it looks at values."""

    role = "anomaly"

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan

    def recorded(self, node: Node) -> None:
        node.extra()["forward_stack"] = source.stack_text()

    def gradient(self, below: Any, node: Node, g: Any) -> Any:
        gs = below(node, g)
        if self.check_nan:
            check(node, gs)
        return gs


class _Thread(threading.local):
    check_nan = True


_settings = _Thread()


def setting() -> tuple[bool, bool]:
    """Whether anomaly mode is on in this thread, and whether it looks at values."""
    return thread.stack.anomaly is not None, _settings.check_nan


def switch(enabled: bool, check_nan: bool) -> None:
    """Switch anomaly mode on or off in this thread."""
    _settings.check_nan = check_nan
    interpret.exchange("anomaly", Anomaly(check_nan) if enabled else None)


def check(node: Node, gs: Any) -> None:
    """Raise when a gradient just computed holds NaN or Inf, naming the forward line."""
    for k, g in enumerate(gs):
        if g is None:
            continue
        a = g._array if isinstance(g, Tensor) else np.asarray(g)
        if a.dtype.kind not in "fcV" or bool(np.isfinite(a).all()):
            continue
        nan = bool(np.isnan(a).any())
        made = node.line
        stack = (node.ext or {}).get("forward_stack")
        notes = [f"the forward operation was recorded at {made}"] if made else []
        if stack:
            notes.append("the forward call's stack:\n" + stack.rstrip())
        raise GraphError(
            f"Function '{node.op.grad_name}' returned {'nan' if nan else 'inf'} values in its {k}th output.",
            op=node.op.grad_name,
            notes=notes,
            hint="look at the values that reach this operation: a division by zero, a logarithm or square root at zero, an overflow",
        )
