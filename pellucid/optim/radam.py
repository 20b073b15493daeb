"""Adam with a rectified adaptive rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .adam import check_betas, lerp
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, mixed, step_counter, to_number, zeros


class RAdam(ArrayOptimizer):
    """Adam that starts without the adaptive rate, until its variance is known well enough.

    Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2020.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr = to_number(group["lr"])
        state["step"] += 1
        step = float(state["step"])
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p *= 1 - lr * group["weight_decay"]
            else:
                g = add_decay(g, p, group["weight_decay"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        lerp(mean, g, 1 - beta1)
        square *= beta2
        square += g * g * (1 - beta2)
        correction2 = 1 - beta2**step
        direction = mean / (1 - beta1**step) * lr
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction2
        if length > 5.0:
            direction *= correction2**0.5 / (np.sqrt(square) + group["eps"])
            direction *= ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
        p -= direction

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        state["step"] += 1
        step = float(state["step"])
        if group["decoupled_weight_decay"]:
            p = p * (1 - lr * decay)
        else:
            g = decayed(g, p, decay)
        mean = state["exp_avg"] = mixed(state["exp_avg"], g, 1 - beta1)
        square = state["exp_avg_sq"] = mixed(state["exp_avg_sq"], g * g, 1 - beta2)
        correction2 = 1 - beta2**step
        direction = mean / (1 - beta1**step) * lr
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction2
        if length > 5.0:
            rectified = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            direction = direction * (correction2**0.5 * rectified) / (square.sqrt() + group["eps"])
        return p - direction
