"""PyTorch's names for kernels that do not exist for 8-bit floats and for half complex numbers.

`kernels.txt` has one line for each record that is refused for such numbers: the record's name, the
kernel's name, and the kernel's name if one operand is a number. "-" means that PyTorch has the
kernel. A mark before the record's name says of which types this holds: of all without a mark, "~" of
the floats only, "*" of powers of two only, "&" of half complex numbers only.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy import ndarray

from ... import dtypes

_POWERS = dtypes.float8_e8m0fnu.numpy.char
_EIGHTS = frozenset(kind.numpy.char for kind in dtypes.ALL if kind.is_float8)
_COMPLEX = dtypes.complex32.numpy.char
# for the characters of NumPy's dtypes: the records without a kernel
_OF: dict[str, dict[str, list[str]]] = {char: {} for char in (*_EIGHTS, _COMPLEX)}
_MARKS = {"~": _EIGHTS, "*": {_POWERS}, "&": {_COMPLEX}}


def _read() -> None:
    text = Path(__file__).with_name("kernels.txt").read_text(encoding="utf-8")
    for name, *kernels in map(str.split, text.splitlines()):
        for char in _MARKS.get(name[0], _OF):
            # PyTorch has other names for kernels that compute in wider floats
            named = (
                [k.removesuffix("_reduced_float") for k in kernels] if char == _COMPLEX else kernels
            )
            _OF[char][name.lstrip("~*&")] = named


_read()


def aside(name: str, promote: str | None, checked: bool) -> str:
    """The dtypes (NumPy characters) that must take the general path of an operation, because it
    checks arguments, converts integers to floats or refuses the dtype.
    """
    return (
        ("?bBhHiIlLqQ" if promote == "float" else "")
        + ("?FD" + _COMPLEX if checked else "")
        + "".join(sorted(char for char, lacking in _OF.items() if name in lacking))
    )


def _lacking(name: str, operands: Iterable[Any], arrays: Iterable[Any]) -> str:
    for a in arrays:
        kernels = (
            _OF[a.dtype.char].get(name) if isinstance(a, ndarray) and a.dtype.char in _OF else None
        )
        if kernels is not None:
            return kernels[-1 if any(isinstance(x, (int, float)) for x in operands) else 0].strip(
                "-"
            )
    return ""


def refuse(name: str, operands: Iterable[Any], arrays: Iterable[Any]) -> None:
    """Raise the TypeError that NumPy raises for other dtypes if PyTorch has no kernel for these
    arguments.
    """
    if _lacking(name, operands, arrays):
        raise TypeError("not supported")


def no_kernel(name: str, kind: str, operands: Iterable[Any], arrays: Iterable[Any]) -> str:
    """PyTorch's message for an operation that has no kernel for a dtype."""
    known = next((lacking[name] for lacking in _OF.values() if name in lacking), ["-"])
    first = known[0].strip("-") or f"{name}_cpu"
    return f"\"{_lacking(name, operands, arrays) or first}\" not implemented for '{kind}'"
