"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from ._arrays import full, step_counter, zeros
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr, to_number

__all__ = ["Rprop", "rprop"]


def rprop(m: Any, n: Any, param: Any, grad: Any, prev: Any, step_size: Any) -> dict[str, Any]:
    """Rprop's formula, for one element of each."""
    product = grad * prev
    turned = product < 0
    size = m.where(product > 0, step_size * n.up, m.where(turned, step_size * n.down, step_size))
    size = m.clamp(size, min=n.smallest, max=n.largest)
    g = m.where(turned, 0.0, grad)
    return {"prev": g, "step_size": size, "param": m.fma(-m.sign(g), size, param)}


class Rprop(FormulaOptimizer):
    """Rprop: a separate step size per element, which grows while the gradient's sign stays the same
    and shrinks when it changes.

    The size of the gradient does not matter, only its sign; so it suits full batches. Where the
    sign changes, the element stays.

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: the first step size. Default: 0.01.
        etas: factors of the step size when the sign changes and when it stays. Default: (0.5, 1.2).
        step_sizes: smallest and largest step size. Default: (1e-6, 50).
        capturable, foreach: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative `lr`; etas that are not on both sides of 1.

    Source: Riedmiller, Braun, "A direct adaptive method for faster backpropagation learning: the
    RPROP algorithm", 1993.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Rprop([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
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
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
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
