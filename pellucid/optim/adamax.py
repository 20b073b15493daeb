"""Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .adam import check_betas, lerp
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, mixed, step_counter, to_number, zeros


class Adamax(ArrayOptimizer):
    """Steps along the mean gradient divided by the decayed largest absolute gradient.

    Source: Kingma, Ba, "Adam", 2015, section 7.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["exp_avg"] = zeros(p)
        state["exp_inf"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        state["step"] += 1
        g = add_decay(g, p, group["weight_decay"])
        lerp(state["exp_avg"], g, 1 - beta1)
        largest = state["exp_inf"]
        largest *= beta2
        np.maximum(largest, np.abs(g) + group["eps"], out=largest)
        p += state["exp_avg"] * -(to_number(group["lr"]) / (1 - beta1 ** float(state["step"]))) / largest

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        beta1, beta2 = group["betas"]
        state["step"] += 1
        g = decayed(g, p, group["weight_decay"])
        mean = state["exp_avg"] = mixed(state["exp_avg"], g, 1 - beta1)
        largest = state["exp_inf"] = (state["exp_inf"] * beta2).maximum(g.abs() + group["eps"])
        return p - mean * (group["lr"] / (1 - beta1 ** float(state["step"]))) / largest
