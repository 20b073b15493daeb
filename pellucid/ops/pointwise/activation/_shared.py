"""The record of activations: forward and ordinary backward are one generated kernel each, and
formulas handle all other cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....arrays.formulas import forward_of
from ....core.display.packing import before_write
from ....core.inplace import check_writable, overwrite
from ....core.modes import state
from ....core.primitive import Primitive, defop
from ....core.tensor import FAST_TYPES, Tensor
from ....errors import OperationError, UnsupportedError
from ....ir.formula import Formula
from ..._rules import fused_gradient, require_tensor
from ..._samples import REAL, elementwise


def activation(
    name: str,
    formula: Callable[..., Any],
    slope: Callable[..., Any],
    *,
    kinds: str = "fh",
    saves: str = "input",
    params: dict[str, float] | None = None,
    **fields: Any,
) -> Primitive:
    """Record `name` from its formula and `slope(F, g, input or out, **numbers)`, the gradient in
    operations; each is one kernel, too.

    `params` are numbers to test it with.
    """
    written = Formula(formula, kinds)
    return defop(
        name,
        "input",
        forward=forward_of(name, written, kernel=True),
        formula=written,
        vjp={"input": fused_gradient(name, slope, saves, written.numbers)},
        jvp="elementwise",
        aval=lambda x, **_: x,
        elementwise=True,
        samples=elementwise(REAL, params=(params or {},)),
        **fields,
    )


def in_place(
    function: Callable[..., Tensor], name: str, x: Tensor, *args: Any, **params: Any
) -> Tensor:
    check_writable(x, name)
    call = before_write(function) if state.slow else function
    return overwrite(x, call(x, *args, **params), name)


def in_place_of_slope(
    function: Callable[..., Tensor], name: str, kernel: str, x: Tensor, slope: float, *more: Any
) -> Tensor:
    """`in_place` of an activation with a slope for negative numbers: backward tells them by the
    sign of the result, so a negative slope has no backward.
    """
    made = in_place(function, name, x, slope, *more)
    node = made.grad_fn
    if slope < 0 and node is not None:

        def refuse(grads: Any) -> None:
            raise OperationError(
                f"In-place {kernel} backward calculation is triggered with a negative slope which is not supported. This is caused by "
                "calling in-place forward function with a negative slope, please call out-of-place version instead."
            )

        node.register_prehook(refuse)
    return made


def require_floating(x: Any, name: str, complex: bool = False) -> Tensor:
    if type(x) in FAST_TYPES and x._array.dtype.kind == "f":
        return x
    x = require_tensor(x, name)
    if not (x.dtype.is_floating_point or complex and x.dtype.is_complex):
        raise UnsupportedError(
            f"\"{name}\" not implemented for '{x.dtype.scalar_type_name}'", op=name
        )
    return x
