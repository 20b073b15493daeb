"""Forward rules on arrays that are made from the formulas (`ir.formula`) of element-wise
operations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import config
from ..ir.formula import DOUBLE, ELEMENTARY, FORMULAS, Formula, word
from ..llvm.alike import LARGEST
from .halves import HALVES, narrowed, widened
from .native import SMALL, Planned, Quick, Widened, fused, often, quick

__all__ = ["LARGEST", "Formula", "entered", "forward_of", "planned", "quick_of", "with_few"]

_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)
LARGE = 1 << 12  # from so many elements on, one pass of a kernel beats several passes of NumPy


@functools.lru_cache(256)
def _number(kind: str, value: float) -> np.ndarray:
    """A non-zero number as an array, cached. A kernel takes longer to convert a number. (Zero is
    excluded because 0.0 and -0.0 would be one cache key.)
    """
    return np.array(value, kind)


def numbered(rule: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """Note on a rule that it takes these parameters by keyword, which its signature does not show."""
    vars(rule)["numbers"] = names
    return rule


def entered(name: str, forward: Any, formula: Formula | None, wide_numbers: bool) -> Any:
    """Register the formula of the operation `name` and return its forward rule. Without an explicit
    formula, it is that of the word which the forward rule names; without a forward rule, one is
    made from the formula.
    """
    formula = formula or (word(forward) if isinstance(forward, str) else None)
    if formula is not None:
        FORMULAS[name] = formula._replace(wide_numbers=wide_numbers)
        forward = forward or forward_of(name, formula)
    return forward


def with_few(name: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Note on a forward rule that the formula `name` gives the same bits, so that small-array
    functions may replace it.
    """
    vars(rule)["quick"] = quick(name)
    return rule


def planned(
    prepare: Callable[..., Any], rule: Callable[..., Any], widens: str = ""
) -> Callable[..., Any]:
    """Note on a forward rule that functions made by `prepare` may replace it for small contiguous
    arrays (see `native.Planned`).
    """
    vars(rule)["quick"] = Planned(prepare, widens)
    return rule


def quick_of(name: str, forward: Any, function: Any) -> Quick | None:
    """The small-array functions of an operation, which give the same bits as its forward rule (a
    function, or the name of one). None if there are none.
    """
    found: Quick | None = getattr(function if isinstance(forward, str) else forward, "quick", None)
    formula = FORMULAS.get(name)
    serves = getattr(forward, "serves_few", None)
    if (
        formula is None
        or not (serves or isinstance(forward, str))
        or formula.args != "same"
        or "f" not in formula.kinds
        or formula.decides()
    ):
        return found
    # the kernel also serves few numbers, or its results equal NumPy's
    exact = not formula.words() & ELEMENTARY
    if exact or serves is not None and serves():
        return quick(name)
    alone = len(formula.values) == 1 and not formula.numbers
    return found or (Widened(name) if alone and formula.words() & ELEMENTARY - DOUBLE else None)


def forward_of(name: str, formula: Formula, kernel: bool = False) -> Callable[..., Any]:
    """The forward rule of the operation `name`: NumPy's functions one after the other. Two-byte
    floats are computed in float32 and rounded once.

    With `kernel`, one native kernel computes large float32 and float64 arrays. Otherwise a kernel
    is only used if the formula has several operations, the arrays are large, and the results equal
    NumPy's (no elementary functions).
    """
    function, numbers = formula.function, formula.numbers
    known: dict[Any, Any] = {}  # kernels used so far, by dtype
    ready: dict[str, Any] = {}  # those of them that serve any size, by dtype character

    @functools.cache
    def lengthy(lines: int = 2) -> bool:
        # so many NumPy calls cost as much as a kernel call
        return len(formula.text().splitlines()) > lines

    @functools.cache
    def long() -> bool:
        return lengthy(9)

    @functools.cache
    def worth() -> bool:
        return not formula.decides() and not formula.words() & ELEMENTARY and lengthy()

    def kernel_for(kind: Any, *arrays: Any) -> Any:
        """The kernel for floats of this dtype, or None if NumPy should compute."""
        if kernel:
            x = arrays[0]
            served = lengthy() or often(name)
            if (
                kind in known
                and x.size >= (1 if served else SMALL)
                and type(x) is np.ndarray
                and config.kernels
            ):
                if served:
                    ready[kind.char] = known[kind]
                return known[kind]
            run = fused(name, x, least=1 if lengthy() else SMALL)
            if run is not None:
                known[kind] = run
            return run
        few = arrays[-1].size < LARGE and arrays[0].size < LARGE
        served = long() or often(name)
        if few and not served or not worth():
            return None
        for k, a in enumerate(arrays):
            if type(a) is not np.ndarray or a.dtype is not kind and k not in formula.masks:
                return None
        run = fused(name, arrays[0], least=1)
        if served and run is not None:
            ready[kind.char] = run
        return run

    def served(rule: Callable[..., Any]) -> Callable[..., Any]:
        vars(rule)["serves_few"] = lambda: kernel and lengthy()
        return rule

    if len(formula.values) == 1 and not numbers:

        def rule(xp: Any, x: Any) -> Any:
            kind = x.dtype
            run = ready.get(kind.char)
            if run is not None and type(x) is np.ndarray and x.size and config.kernels:
                return run(x)
            if kind is _F32 or kind is _F64:
                run = kernel_for(kind, x)
                if run is not None:
                    return run(x)
            elif kind in HALVES:
                run = None if formula.decides() else fused(name, x)
                return narrowed(rule(xp, widened(x)), kind) if run is None else run(x)
            return function(xp, x)

        return served(rule)

    def several(xp: Any, *arrays: Any, **given: Any) -> Any:
        first = arrays[0]
        kind = first.dtype
        run = ready.get(kind.char)
        if run is not None and first.size and config.kernels:
            for a in arrays:
                if type(a) is not np.ndarray or a.dtype is not kind:
                    break
            else:
                if not numbers:
                    return run(*arrays)
                values = []
                for n in numbers:
                    v = given[n]
                    values.append(_number(kind.char, v) if type(v) is float and v else v)
                return run(*arrays, *values)
        if kind is _F32 or kind is _F64:
            if not kernel and first.size < LARGE and arrays[-1].size < LARGE and not long():
                return function(xp, *arrays, **given)
            run = kernel_for(kind, *arrays)
            if run is not None:
                return run(*arrays, *[given[n] for n in numbers])
        elif kind in HALVES:
            # If one of its numbers is None, a formula is a different one, for which there is no
            # kernel.
            served = not formula.decides() and all(v is not None for v in given.values())
            run = (
                fused(name, *[a for k, a in enumerate(arrays) if k not in formula.masks])
                if served
                else None
            )
            if run is not None:
                return run(*arrays, *[given[n] for n in numbers])
            return narrowed(several(xp, *map(widened, arrays), **given), kind)
        return function(xp, *arrays, **given)

    if not numbers and len(formula.values) == 2 and not kernel:

        def pair(xp: Any, x: Any, y: Any) -> Any:
            if x.dtype.itemsize > 2 and x.size < LARGE and y.size < LARGE:
                return function(xp, x, y)
            return several(xp, x, y)

        return served(pair)
    return served(numbered(several, *numbers))
