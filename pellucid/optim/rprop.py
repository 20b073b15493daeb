"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from ._formula import FormulaOptimizer
from .optimizer import check, check_lr, full, step_counter, to_number, zeros


def rprop(m: Any, n: Any, param: Any, grad: Any, prev: Any, step_size: Any) -> dict[str, Any]:
    """Rprop's formula, for one element of each."""
    product = grad * prev
    turned = product < 0
    size = m.where(product > 0, step_size * n.up, m.where(turned, step_size * n.down, step_size))
    size = m.clamp(size, min=n.smallest, max=n.largest)
    g = m.where(turned, 0.0, grad)
    return {"prev": g, "step_size": size, "param": m.fma(-m.sign(g), size, param)}


class Rprop(FormulaOptimizer):
    """Rprop: a separate step size per element, which grows while the gradient's sign stays the same and shrinks when it changes.

    Args:
        etas: factors when the sign changes and when it stays; step_sizes: smallest and largest step.

    Source: Riedmiller, Braun, "A direct adaptive method for faster backpropagation learning: the RPROP algorithm", 1993.
    """

    formula = staticmethod(rprop)
    numbers = ("down", "up", "smallest", "largest")

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

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return (*group["etas"], *group["step_sizes"]), (float(step) + 1,)
