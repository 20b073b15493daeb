"""Adafactor: second moments of matrices, stored as one row and one column."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor, make_tensor
from ._arrays import ArrayOptimizer, step_counter, zeros
from .adam import lerp
from .optimizer import check, to_number


def _norm(a: Any) -> float:
    return float(np.sqrt((a * a).sum()))


class Adafactor(ArrayOptimizer):
    """Adafactor: adaptive steps relative to the parameters' size that store only one row and one
    column per matrix.

    Second moments of a matrix are estimated by the product of the means of its rows and of its
    columns.

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: largest relative step; the step shrinks as 1 / sqrt(t) once that is smaller. Default:
            0.01.
        beta2_decay: power of the decay of second moments: the new square counts t^beta2_decay.
            Default: -0.8.
        eps: floor of squares (None: the machine epsilon), and floor of the parameter's size.
            Default: (None, 1e-3).
        d: clipping threshold of updates' RMS, at least 1. Default: 1.
        weight_decay: multiplied by lr and subtracted from the parameters directly. Default: 0.
        foreach: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.

    Raises:
        ValueError: an option out of range.
        RuntimeError: a complex parameter.

    Source: Shazeer, Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adafactor([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check(not isinstance(lr, Tensor) or lr._array.size == 1, "Tensor lr must be 1-element")
        check(0.0 <= to_number(lr), f"Learning rate should be >= 0 but is: {lr}")
        check(0.0 >= beta2_decay, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or 0.0 <= eps[0], f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(0.0 <= eps[1], f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(1.0 <= d, f"Clipping threshold d should be >= 1 but is: {d}")
        check(0.0 <= weight_decay, f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        if p._array.dtype.kind == "c":
            raise RuntimeError("Adafactor does not support complex parameters")
        shape, kind = p._array.shape, p._array.dtype
        state["step"] = step_counter()
        if len(shape) > 1:
            state["row_var"] = make_tensor(np.zeros((*shape[:-1], 1), kind))
            state["col_var"] = make_tensor(np.zeros((*shape[:-2], 1, shape[-1]), kind))
        else:
            state["variance"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        lr, d = to_number(group["lr"]), group["d"]
        floor, smallest = group["eps"]
        if floor is None:
            floor = float(np.finfo(p.dtype).eps)
        state["step"] += 1
        step = float(state["step"])
        new = step ** group["beta2_decay"]
        alpha = max(smallest, _norm(p) / p.size**0.5) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p *= 1 - lr * group["weight_decay"]
        if g.ndim > 1:
            row, column = state["row_var"], state["col_var"]
            lerp(row, (g * g).sum(-1, keepdims=True) / g.shape[-1], new)
            lerp(column, (g * g).sum(-2, keepdims=True) / g.shape[-2], new)
            variance = (row @ column) / np.maximum(row.mean(-2, keepdims=True), floor)
        else:
            lerp(state["variance"], g * g, new)
            variance = state["variance"].copy()
        update = g / np.sqrt(np.maximum(variance, floor * floor))
        p += update * (-alpha / max(1.0, _norm(update) / (update.size**0.5 * d)))
