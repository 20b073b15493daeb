"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

import numpy as np

from .optimizer import ArrayOptimizer, check, check_lr, full, step_counter, to_number, zeros


class Rprop(ArrayOptimizer):
    """Steps of a size of their own for each element, which grows while the gradient's sign stays and shrinks when it changes.

    Args:
        etas: factors when the sign changes and when it stays; step_sizes: smallest and largest step.

    Source: Riedmiller, Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        lr = to_number(group["lr"])
        state["step"] = step_counter()
        state["prev"] = zeros(p)
        state["step_size"] = full(p, complex(lr, lr) if p.is_complex() else lr)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        down, up = group["etas"]
        low, high = group["step_sizes"]
        state["step"] += 1
        product = g * state["prev"]
        factor = np.where(product > 0, up, np.where(product < 0, down, 1.0)).astype(p.dtype)
        size = state["step_size"]
        size *= factor
        np.clip(size, low, high, out=size)
        g = np.where(product < 0, 0, g).astype(p.dtype)
        p -= np.sign(g) * size
        state["prev"][...] = g

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        down, up = group["etas"]
        state["step"] += 1
        product = (g * state["prev"]).detach()  # of the factors only signs are used, which have no derivative
        factor = product.sign()
        factor = factor.masked_fill(product > 0, up).masked_fill(product < 0, down).masked_fill(product == 0, 1.0)
        size = state["step_size"] = (state["step_size"] * factor).clamp(*group["step_sizes"])
        g = state["prev"] = g.masked_fill(product < 0, 0.0)
        return p - g.sign() * size
