"""Anomaly mode: nodes keep the stack of the call that recorded them, and backward stops at the
first gradient that holds NaN.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ...errors import GraphError, warn, warn_once
from .. import interpret, source
from ..interpret import thread
from ..tape import Node
from ..tensor import Tensor


class Anomaly:
    """The interpreter of a thread in anomaly mode. With `check_nan`, it checks all gradients for
    NaN.
    """

    role = "anomaly"

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan
        self.told = False  # whether it has warned of an infinity

    def recorded(self, node: Node) -> None:
        node.extra()["forward_stack"] = source.stack_text()

    def gradient(self, below: Any, node: Node, g: Any) -> Any:
        try:
            gs = below(node, g)
            if self.check_nan:
                self._check(node, gs)
        except Exception:
            self._tell(node)
            raise
        return gs

    def _tell(self, node: Node) -> None:
        """Warn that a node's backward failed, with the stack of the call that recorded it."""
        stack = (node.ext or {}).get("forward_stack")
        told = (
            f"Traceback of forward call that caused the error:\n{stack}"
            if stack
            else "No forward pass information available. Enable detect anomaly during forward pass for more information."
        )
        warn(f"Error detected in {node.op.grad_name}. {told}", UserWarning)

    def _check(self, node: Node, gs: Any) -> None:
        """Raise an error that names the forward line if a gradient contains NaN. An infinity, which
        occurs regularly in mixed precision, gives one warning only.
        """
        for k, g in enumerate(gs):
            if g is None:
                continue
            a = g._array if isinstance(g, Tensor) else np.asarray(g)
            if a.dtype.kind not in "fcVW" or bool(np.isfinite(a).all()):
                continue
            made, name = node.line, node.op.grad_name
            if not np.isnan(a).any():
                if self.told:
                    continue
                self.told = True
                place = f"; the forward operation was recorded at {made}" if made else ""
                warn_once(f"Function '{name}' returned inf values in its {k}th output{place}")
                continue
            stack = (node.ext or {}).get("forward_stack")
            notes = [f"the forward operation was recorded at {made}"] if made else []
            if stack:
                notes.append("the forward call's stack:\n" + stack.rstrip())
            raise GraphError(
                f"Function '{name}' returned nan values in its {k}th output.",
                op=name,
                notes=notes,
                hint="look at the values that reach this operation: a division by zero, a logarithm or square root at zero, an overflow",
            )


class _Thread(threading.local):
    check_nan = True


_settings = _Thread()


def setting() -> tuple[bool, bool]:
    """Whether anomaly mode is on in this thread, and whether it checks values."""
    return thread.stack.anomaly is not None, _settings.check_nan


def switch(enabled: bool, check_nan: bool) -> None:
    """Switch anomaly mode on or off in this thread."""
    _settings.check_nan = check_nan
    interpret.exchange("anomaly", Anomaly(check_nan) if enabled else None)
