"""`torch._C._autograd`, as far as libraries ask it."""

from __future__ import annotations

import enum
import sys
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from ..core.display.nodes import accumulator
from ..core.interpret import thread
from ..core.modes import local
from ..core.reverse import BackwardPass


class DeviceType(enum.Enum):
    """Kinds of devices, by PyTorch's numbers."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


_numbers: WeakKeyDictionary[BackwardPass, int] = WeakKeyDictionary()
_next = count()


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool = False) -> Any:
    """The innermost pair of hooks for saved tensors, or None."""
    for interpreter in reversed(thread.stack.all):
        if hasattr(interpreter, "pack_hook"):
            return interpreter.pack_hook, interpreter.unpack_hook
    return None


def _current_graph_task_id() -> int:
    """A number of the backward pass that is under way, another one for each; -1 outside."""
    run = local.run
    if run is None:
        return -1
    if run not in _numbers:
        _numbers[run] = next(_next)
    return _numbers[run]


def _current_autograd_node() -> Any:
    """The node whose gradients are computed, in hooks and gradient rules; None outside of them.

    The engine notes it nowhere: it stands in the innermost call that runs nodes.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is BackwardPass.go.__code__:
            return frame.f_locals.get("node")
        if frame.f_code is BackwardPass.finish.__code__:
            leaf = frame.f_locals.get("leaf")
            return None if leaf is None else accumulator(leaf)
        frame = frame.f_back  # type: ignore[assignment]
    return None
