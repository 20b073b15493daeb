"""Helpers of operations that write: in-place and copying forms, and the value of a fill."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays import numpy_cpu
from ...arrays.formulas import numbered
from ...arrays.numpy_cpu import apart, overlaps_itself, writable
from ...core import tracing
from ...core.bind import NUMBERS, wrap
from ...core.display import examples
from ...core.inplace import bump, check_overlap, check_read, check_writable, overwrite, write
from ...core.interpret import thread
from ...core.modes import local
from ...core.primitive import TENSORS as F
from ...core.primitive import Primitive
from ...core.public import FUNCTIONS, METHODS, with_out
from ...core.tape import titled
from ...core.tensor import FAST_TYPES, Tensor
from ...errors import OperationError, warn_once
from .._numbers import check_fitting, number_array
from .._rules import mismatch, require_tensor


def copying(rule: Callable[..., None], row_major: bool = False) -> Callable[..., Any]:
    """Return the forward rule of an operation that is defined by its in-place rule. The result has
    the memory layout of the argument, or is row-major.
    """

    def forward(xp: Any, x: Any, *others: Any, **params: Any) -> Any:
        out = xp.ascontiguousarray(xp.copy(x)) if row_major and x.ndim > 1 else xp.copy(x)
        rule(xp, out, *others, **params)
        return out

    return numbered(forward, *keywords(rule))


def keywords(function: Any) -> tuple[str, ...]:
    """Return the names of the keyword-only parameters of `function`."""
    code = function.__code__
    return getattr(
        function, "numbers", code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    )


def wrote_in_order(
    t: Tensor,
    name: str,
    op: Any,
    others: tuple[Tensor, ...],
    params: dict[str, Any],
    example: str = "",
) -> bool:
    """Write place by place to a tensor whose elements share memory, so that the last value stays:
    as in PyTorch, which warns if the tensor is expanded (`example` is part of its words).

    Not where a gradient flows; False where nothing was written.
    """
    a = t._array
    if (
        type(a) is not ndarray
        or apart(a)
        or (local.grad and any(x._rg for x in (t, *others)))
        or (
            # active interceptors must see the call; autocast has no part in writes
            any(i is not thread.stack.autocast for i in thread.stack.all)
            and tracing.tracer() is None
        )
        or not all(type(x) in FAST_TYPES for x in (t, *others))
    ):
        return False
    if overlaps_itself(a):
        if not example:
            return False
        warn_once(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
            f"applies to advanced indexing e.g. {example}"
        )
    tracing.seen(None, "the step writes to a tensor whose elements share memory")
    op.inplace(numpy_cpu, writable(a), *[x._array for x in others], **params)
    bump(t, name)
    return True


def both_forms(
    name: str,
    op: Primitive,
    prepare: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]],
    direct: bool = True,
    out: bool = True,
    title: str = "",
    few: Callable[..., Tensor | None] | None = None,
) -> None:
    """Publish `name` and `name_` for an operation whose arguments after the tensor `prepare` checks
    and makes.

    Args:
        direct: the gradient needs neither the old value nor the result, so that `name_` may write
            at once.
        title: what the graph calls it, where that is not the name of the operation.
        few: computes `name` of few numbers past the operation; None for other calls.
    """
    doc = prepare.__doc__

    def function(input: Tensor, *args: Any, **named: Any) -> Tensor:
        if few is not None and not named and (made := few(input, *args)) is not None:
            return made
        others, params = prepare(require_tensor(input, name), *args, **named)
        made = op.call(input, *others, **params)
        return titled(made, title) if title else made

    def inplace(self: Tensor, *args: Any, **named: Any) -> Tensor:
        check_writable(self, name + "_")
        others, params = prepare(require_tensor(self, name + "_"), *args, **named)
        a = self._array
        # The value of a fill is read once, before anything is written.
        check_read(
            self, others[:1] if name.endswith("_fill") else others, exact=name != "masked_fill"
        )
        if not direct:
            made = op.call(self, *others, **params)
            return overwrite(self, titled(made, title) if title else made, name + "_")
        if name.endswith("_fill") and wrote_in_order(
            self, name + "_", op, others, params, "tensor[mask] = scalar"
        ):
            return self
        if type(a) is ndarray:
            check_overlap(a)
            if op.check is not None:
                tracing.check(
                    partial(op.check, **params), a, *[t._array for t in others], again=True
                )
            others = tuple(F.clone(t) if np.may_share_memory(a, t._array) else t for t in others)
            if wrote_in_order(self, name + "_", op, others, params):
                return self
        return write(self, name + "_", op, others, params)

    function.__name__, inplace.__name__ = name, name + "_"
    function.__doc__, inplace.__doc__ = doc, examples.of_inplace(name, name + "_", doc)
    METHODS[name], METHODS[name + "_"] = function, inplace
    FUNCTIONS["torch"][name] = (
        with_out(function, "apart: same", f"torch.{name}") if out else function
    )


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def zero_dim_value(name: str, x: Tensor, *between: Any, value: Any) -> Tensor:
    """The value of a fill, which was called with `x`, `between` and it, as a 0-d tensor of the
    dtype of `x`.
    """
    if not isinstance(value, Tensor):
        if not isinstance(value, NUMBERS):
            raise mismatch(name, x, *between, value)
        return wrap(number_array(value, x._array.dtype))
    if value._array.ndim:
        raise OperationError(
            f"{name}_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
        )
    if value._array.dtype.kind in "cW" and x._array.dtype.kind not in "cW":
        number_array(1j, x._array.dtype)
    tracing.check(check_fitting, value._array, x._array.dtype)
    return value if value._array.dtype == x._array.dtype else F.cast(value, dtype=x._array.dtype)
