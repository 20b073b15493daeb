"""The table of gradient rules, and helpers that several of them share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...dtypes import BY_NUMPY, strided
from ..overload import ops

ATEN: Any = ops.aten

Rule = Callable[..., dict[str, Callable[[], Any]]]


def of(func: Any) -> Any:
    """Return the rule of an operator, or None."""
    if func.namespace != "aten":
        return None
    own = f"{func._opname.lstrip('_')}__{func._overloadname}"
    found = _RULES.get(own) or _RULES.get(func._opname.lstrip("_"))
    return found


_RULES: dict[str, Any] = {}

# operators whose results depend only on the shapes of their arguments
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
    """Decorator for a gradient rule. `keeps` are the results that it saves, and `plain` those of
    them without a gradient. `number` is the number in the name of its node. `fills` says whether
    gradients of unused results are zeros, or None.
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
