"""RMSprop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .adam import lerp
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, mixed, step_counter, to_number, zeros


class RMSprop(ArrayOptimizer):
    """Steps divided by the root of a decayed mean of squared gradients; `centered`: by their standard deviation.

    Source: Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; Graves, 2013 (centered).
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check(0.0 <= momentum, f"Invalid momentum value: {momentum}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        check(0.0 <= alpha, f"Invalid alpha value: {alpha}")
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["square_avg"] = zeros(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(p)
        if group["centered"]:
            state["grad_avg"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        alpha, lr = group["alpha"], to_number(group["lr"])
        state["step"] += 1
        g = add_decay(g, p, group["weight_decay"])
        square = state["square_avg"]
        square *= alpha
        square += g * g * (1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            lerp(mean, g, 1 - alpha)
            scale = np.sqrt(square - mean * mean)
        else:
            scale = np.sqrt(square)
        scale += group["eps"]
        if group["momentum"] > 0:
            buf = state["momentum_buffer"]
            buf *= group["momentum"]
            buf += g / scale
            p += buf * -lr
        else:
            p += g * -lr / scale

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        alpha, lr = group["alpha"], group["lr"]
        state["step"] += 1
        g = decayed(g, p, group["weight_decay"])
        spread = state["square_avg"] = mixed(state["square_avg"], g * g, 1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"] = mixed(state["grad_avg"], g, 1 - alpha)
            spread = spread - mean * mean
        g = g / (spread.sqrt() + group["eps"])
        if group["momentum"] > 0:
            g = state["momentum_buffer"] = state["momentum_buffer"] * group["momentum"] + g
        return p - g * lr
