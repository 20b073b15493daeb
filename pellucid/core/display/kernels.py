"""PyTorch's names for kernels that do not exist for 8-bit floats.

`kernels.txt` has one line for each record that is refused for such floats: the record's name, the
kernel's name, and the kernel's name if one operand is a number. "-" means that PyTorch has the
kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy import ndarray

from ... import dtypes

_LINES = [
    line.split()
    for line in Path(__file__).with_name("kernels.txt").read_text(encoding="utf-8").splitlines()
]
_KERNELS = {name: kernels for name, *kernels in _LINES if name[0] != "*"}
# of what only the type of powers of two lacks
_OF_POWERS = {name[1:]: kernels for name, *kernels in _LINES if name[0] == "*"}
_POWERS = dtypes.float8_e8m0fnu.numpy.char
_EIGHTS = frozenset(kind.numpy.char for kind in dtypes.ALL if kind.is_float8)


def aside(name: str, promote: str | None, checked: bool) -> str:
    """The dtypes (NumPy characters) that must take the general path of an operation, because it
    checks arguments, converts integers to floats or refuses the dtype.
    """
    return (
        ("?bBhHiIlLqQ" if promote == "float" else "")
        + ("?FD" if checked else "")
        + ("".join(sorted(_EIGHTS)) if name in _KERNELS else _POWERS * (name in _OF_POWERS))
    )


def _lacking(name: str, operands: Iterable[Any], arrays: Iterable[Any]) -> str:
    kernels = _KERNELS.get(name) or _OF_POWERS.get(name)
    if kernels is None:
        return ""
    chars = [a.dtype.char for a in arrays if isinstance(a, ndarray)]
    if _EIGHTS.isdisjoint(chars) or name not in _KERNELS and _POWERS not in chars:
        return ""
    return kernels[-1 if any(isinstance(x, (int, float)) for x in operands) else 0].strip("-")


def refuse(name: str, operands: Iterable[Any], arrays: Iterable[Any]) -> None:
    """Raise the TypeError that NumPy raises for other dtypes if PyTorch has no kernel for these
    arguments.
    """
    if _lacking(name, operands, arrays):
        raise TypeError("not supported")


def no_kernel(name: str, kind: str, operands: Iterable[Any], arrays: Iterable[Any]) -> str:
    """PyTorch's message for an operation that has no kernel for a dtype."""
    first = _KERNELS.get(name, ["-"])[0].strip("-") or f"{name}_cpu"
    return f"\"{_lacking(name, operands, arrays) or first}\" not implemented for '{kind}'"
