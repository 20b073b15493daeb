"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, full, mixed, step_counter, to_number, zeros


class ASGD(ArrayOptimizer):
    """SGD with a decaying rate that also keeps the mean of the parameters over time, in `state[p]["ax"]`.

    Args:
        lambd: decay; alpha: power of the rate's decay; t0: step from which parameters are averaged.

    Source: Polyak, Juditsky, "Acceleration of stochastic approximation by averaging", 1992.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["eta"] = step_counter()
        state["eta"]._array[...] = to_number(group["lr"])
        state["mu"] = step_counter()
        state["mu"]._array[...] = 1.0
        state["ax"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        lr, lambd = to_number(group["lr"]), group["lambd"]
        state["step"] += 1
        step = float(state["step"])
        g = add_decay(g, p, group["weight_decay"])
        eta, mu = float(state["eta"]), float(state["mu"])
        p *= 1 - lambd * eta
        p += g * -eta
        mean = state["ax"]
        if mu != 1:
            mean += (p - mean) * mu
        else:
            mean[...] = p
        state["eta"][...] = lr / ((1 + lambd * lr * step) ** group["alpha"])
        state["mu"][...] = 1 / max(1, step - group["t0"])

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, lambd = group["lr"], group["lambd"]
        state["step"] += 1
        step, held, mu = float(state["step"]), state["eta"], float(state["mu"])
        eta = held if held.requires_grad else float(held)
        g = decayed(g, p, group["weight_decay"])
        p = p * (1 - lambd * eta) - g * eta
        state["ax"] = p.clone() if mu == 1 else mixed(state["ax"], p, mu)
        rate = lr / ((1 + lambd * lr * step) ** group["alpha"])
        state["eta"] = rate if isinstance(rate, Tensor) else full(held, rate)
        state["mu"] = full(state["mu"], 1 / max(1, step - group["t0"]))
        return p
