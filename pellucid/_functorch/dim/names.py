"""Dimensions named as the variables that they are assigned to: `dims()`, `dimlists()`."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from .tensors import Dim, DimList


def dims(n: int | None = None, sizes: Sequence[int | None] | None = None) -> Any:
    """New dimensions, named as the variables that they are assigned to.

    Args:
        n: how many; by default as many as there are variables or sizes.
        sizes: their sizes, None where an index is to tell.

    Raises:
        SyntaxError: a number that is not given and cannot be seen from the line.

    >>> from pellucid._functorch.dim import dims
    >>> batch, channel = dims(sizes=[None, 3])
    >>> batch, channel.size
    (batch, 3)
    """
    made = _assigned("dims", sys._getframe(1), n, sizes, Dim)
    for each, size in zip(made, sizes or (), strict=False):
        if size is not None:
            each.size = size
    return made[0] if len(made) == 1 else made


def dimlists(n: int | None = None, sizes: Sequence[Any] | None = None) -> Any:
    """New lists of dimensions, named as the variables that they are assigned to.

    Args:
        n: how many lists.
        sizes: for each list the number or the sizes of its dimensions, or None.

    Raises:
        SyntaxError: a number that is not given and cannot be seen from the line.
    """
    made = _assigned("dimlists", sys._getframe(1), n, sizes, lambda name: DimList(name=name))
    for each, size in zip(made, sizes or (), strict=False):
        if isinstance(size, int):
            each.bind_len(size)
        elif size is not None:
            each.bind_len(len(size))
            for one, length in zip(each, size, strict=True):
                if length is not None:
                    one.size = length
    return made[0] if len(made) == 1 else made


def _assigned(
    function: str, frame: FrameType, n: int | None, sizes: Any, make: Callable[[str], Any]
) -> tuple[Any, ...]:
    names = _targets(frame)
    wanted = n if n is not None else len(sizes) if sizes is not None else len(names)
    if not wanted:
        raise SyntaxError(
            f"{function}() must be assigned to a sequence of variable names or have argument n specified"
        )
    if sizes is not None and len(sizes) != wanted:
        raise ValueError(f"expected {wanted} sizes but found {len(sizes)}")
    if len(names) != wanted:
        names = [f"d{k}" for k in range(wanted)]
    return tuple([make(name) for name in names])


def _targets(frame: FrameType) -> list[str]:
    """The variables that the value of the call that runs in a frame is assigned to."""
    number, names = 1, list[str]()
    for step in dis.get_instructions(frame.f_code):
        if step.offset <= frame.f_lasti or step.opname in ("PRECALL", "CALL", "CACHE"):
            continue
        if step.opname == "UNPACK_SEQUENCE":
            number = int(step.argval)
        elif step.opname.startswith("STORE_") and step.opname not in ("STORE_SUBSCR", "STORE_ATTR"):
            # newer Pythons store two variables in one instruction, or store one and load one
            found = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            names += found[:1] if "LOAD" in step.opname else found
        else:
            break
        if len(names) >= number:
            return names
    return []
