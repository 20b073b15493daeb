"""The table of the rules, and what several of them use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...dtypes import BY_NUMPY, strided
from ..overload import ops

ATEN: Any = ops.aten

Rule = Callable[..., dict[str, Callable[[], Any]]]


def of(func: Any) -> Any:
    """The rule of an operator, or None."""
    if func.namespace != "aten":
        return None
    own = f"{func._opname.lstrip('_')}__{func._overloadname}"
    found = _RULES.get(own) or _RULES.get(func._opname.lstrip("_"))
    return found


_RULES: dict[str, Any] = {}

# Operators whose results depend on their arguments' shapes alone.
SHAPES_ALONE = frozenset(
    f"{kind}_like" for kind in ("empty", "full", "ones", "rand", "randint", "randn", "zeros")
) | frozenset(f"new_{kind}" for kind in ("empty", "empty_strided", "full", "ones", "zeros"))  # fmt: skip


def rule(
    *,
    keeps: tuple[int, ...] = (),
    plain: tuple[int, ...] = (),
    number: int = 0,
    names: str = "",
    fills: bool = True,
) -> Callable[[Rule], Rule]:
    """Decorator: a rule, the results that it keeps (`plain`: those without a gradient), the number
    in its node's name, and whether gradients of results that were not used are zeros (or None).
    """

    def register(function: Any) -> Any:
        function.keeps, function.keeps_plain, function.number = keeps, plain, number
        function.fills = fills
        words = inspect.signature(function).parameters
        function.asks = "c" in words
        function.words = [word for word in words if word not in ("A", "g", "c")]
        for name in names.split() or [function.__name__]:
            _RULES[name] = function
        return function

    return register


def _times(A: Any, t: Any, number: Any) -> Any:
    return t if number == 1 else A.mul.Scalar(t, number)


def _dtype(t: Any) -> Any:
    return BY_NUMPY[t._array.dtype]


def _number(A: Any, value: Any, like: Any) -> Any:
    return A.scalar_tensor(value, **_options(like))


def _options(like: Any) -> dict[str, Any]:
    return {"dtype": _dtype(like), "layout": strided, "device": like.device}
