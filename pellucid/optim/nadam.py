"""Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .adam import check_betas, lerp
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, mixed, step_counter, to_number, zeros


class NAdam(ArrayOptimizer):
    """Adam that looks one step of momentum ahead.

    Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check(0.0 <= momentum_decay, f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["mu_product"] = step_counter()
        state["mu_product"]._array[...] = 1.0
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr, decay = to_number(group["lr"]), group["momentum_decay"]
        state["step"] += 1
        step = float(state["step"])
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p *= 1 - lr * group["weight_decay"]
            else:
                g = add_decay(g, p, group["weight_decay"])
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * decay)))
        state["mu_product"] *= mu
        product = float(state["mu_product"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        lerp(mean, g, 1 - beta1)
        square *= beta2
        square += g * g * (1 - beta2)
        denominator = np.sqrt(square / (1 - beta2**step))
        denominator += group["eps"]
        p += g * (-lr * (1.0 - mu) / (1.0 - product)) / denominator
        p += mean * (-lr * mu_next / (1.0 - product * mu_next)) / denominator

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        state["step"] += 1
        step = float(state["step"])
        if group["decoupled_weight_decay"]:
            p = p * (1 - lr * decay)
        else:
            g = decayed(g, p, decay)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * group["momentum_decay"])))
        product = state["mu_product"] = state["mu_product"] * mu
        mean = state["exp_avg"] = mixed(state["exp_avg"], g, 1 - beta1)
        square = state["exp_avg_sq"] = mixed(state["exp_avg_sq"], g * g, 1 - beta2)
        denominator = (square / (1 - beta2**step)).sqrt() + group["eps"]
        ahead = g * (lr * (1.0 - mu) / (1.0 - product)) + mean * (lr * mu_next / (1.0 - product * mu_next))
        return p - ahead / denominator
