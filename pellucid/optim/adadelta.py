"""Adadelta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, mixed, step_counter, to_number, zeros


class Adadelta(ArrayOptimizer):
    """Steps scaled by the root mean square of earlier steps over that of gradients.

    Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["square_avg"] = zeros(p)
        state["acc_delta"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        g = add_decay(g, p, group["weight_decay"])
        square, steps = state["square_avg"], state["acc_delta"]
        square *= rho
        square += g * g * (1 - rho)
        delta = np.sqrt(steps + eps)
        delta /= np.sqrt(square + eps)
        delta *= g
        steps *= rho
        steps += delta * delta * (1 - rho)
        p += delta * -to_number(group["lr"])

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        g = decayed(g, p, group["weight_decay"])
        square = state["square_avg"] = mixed(state["square_avg"], g * g, 1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * g
        state["acc_delta"] = mixed(state["acc_delta"], delta * delta, 1 - rho)
        return p - delta * group["lr"]
