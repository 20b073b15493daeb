"""Adam for gradients of which most elements are zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .adam import check_betas
from .optimizer import ArrayOptimizer, check, check_lr, to_number, zeros


class SparseAdam(ArrayOptimizer):
    """Adam that leaves rows alone, moments included, when their gradient is zero.

    Gradients are dense tensors here; a row (all elements at one index of the first dimension) whose gradient is all zeros counts
    as one that the sparse gradient does not contain.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 < to_number(lr), f"Invalid learning rate: {lr}")
        check(0.0 < eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = 0
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        state["step"] += 1
        step = state["step"]
        rows = g.reshape(g.shape[0], -1).any(1) if g.ndim else np.ones((), bool)
        if not rows.any():
            return
        part = g[rows]
        mean = state["exp_avg"][rows]
        mean += (part - mean) * (1 - beta1)
        square = state["exp_avg_sq"][rows]
        square += (part * part - square) * (1 - beta2)
        state["exp_avg"][rows] = mean
        state["exp_avg_sq"][rows] = square
        size = to_number(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        p[rows] -= mean * size / (np.sqrt(square) + group["eps"])
