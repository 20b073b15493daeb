"""Formulas for few elements, without the fixed cost of a NumPy call. The arguments are contiguous
arrays of one dtype and shape, and Python numbers; the result is a new array. It is bit by bit that
of the formula's ufunc.

Other arguments, and arrays with more than `llvm.alike.LARGEST` elements, give None.

    >>> import numpy as np
    >>> relu6 = alike("relu6", "f")
    >>> x = np.array([-1, 3, 9], np.float32)
    >>> relu6 is None or relu6(x).tolist() == [0.0, 3.0, 6.0]
    True
"""

from __future__ import annotations

import functools
from typing import Any

from ...ir.formula import DOUBLE, ELEMENTARY, FORMULAS, Formula, word
from ...llvm import jit, target
from ...llvm.emit import Module, vector
from .ufunc import emit_range, results_of, signature_of
from .values import available

__all__ = ["alike"]

# by dtype character: the dtype in memory, and the LLVM type of numbers
_KINDS = {
    "f": ("float32", "float"),
    "d": ("float64", "double"),
    "e": ("float16", "float"),
    "E": ("bfloat16", "float"),
}


@functools.cache
def alike(name: str, char: str) -> Any:
    """Return the function of the formula `name` for the dtype with this character; None if there is
    no code for it.
    """
    formula = FORMULAS.get(name) or word(name)
    if formula is None or formula.args not in ("same", "power") or not target.available():
        return None
    if char == "d" and formula.words() & ELEMENTARY - DOUBLE or not available(_KINDS[char][0]):
        return None
    letters = "".join("b" if k in formula.masks else "a" for k in range(len(formula.values)))
    numbers = "".join({"low": "l", "high": "h"}.get(n, "d") for n in formula.numbers)
    if "a" not in letters or results_of(formula) != 1:
        return None
    made = jit.compile_source(
        lambda: _text(char, name, formula),
        {"direct": f"{char}={letters}{numbers}"},
        f"{name} of few {char}\n{formula.text()}",
    )
    return made and made["direct"]


def _text(char: str, name: str, formula: Formula) -> str:
    kind, real = _KINDS[char]
    signature = signature_of(formula, kind)
    module, width = Module(), target.host().lanes(real)
    emit_range(module, width, signature, kind, name, formula)
    values = [f"x{k}" for k in range(len(formula.values))]
    numbers = [f"c{k}" for k in range(len(formula.numbers))]
    f = module.function(
        "direct", **dict.fromkeys(values, "ptr"), **dict.fromkeys(numbers, real), out="ptr", n="i64"
    )
    block = f.buffer("i64", 2 * (len(signature.inputs) + 1), align=8)
    places = [(getattr(f, x), 1) for x in values]
    for x in numbers:
        repeated = f.buffer(real, width)
        f.store(f.splat(getattr(f, x), vector(real, width)), repeated)
        places.append((repeated, 0))
    for k, (place, step) in enumerate([*places, (f.out, 1)]):
        f.store(place, f.at(block, 2 * k, "i64"))
        f.store(f.const(step, "i64"), f.at(block, 2 * k + 1, "i64"))
    f.call("range", block, f.const(0, "i64"), f.n, f.const(0, "i64"))
    f.ret()
    return module.text()
