"""Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ir.formula import decayed, nearer
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .adam import check_betas
from .optimizer import check, check_lr

__all__ = ["Adamax", "adamax"]


def adamax(m: Any, n: Any, param: Any, grad: Any, exp_avg: Any, exp_inf: Any) -> dict[str, Any]:
    """Adamax's formula, for one element of each."""
    g = decayed(m, param, grad, n.decay)
    mean = nearer(m, exp_avg, g, n.weight)
    largest = m.maximum(exp_inf * n.kept, m.abs(g) + n.eps)
    return {"exp_avg": mean, "exp_inf": largest, "param": param + n.minus_step * mean / largest}


class Adamax(FormulaOptimizer):
    """Adamax: steps along the running mean of the gradients, divided by their decayed maximum.

    In step t, for each parameter p with gradient g

        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, |g| + eps)
        p = p - lr / (1 - beta1^t) * m / u

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 2e-3.
        betas: decay of the mean of gradients, and of their maximum. Default: (0.9, 0.999).
        eps: added to the gradients' magnitude. Default: 1e-8.
        weight_decay: times p, added to the gradient (L2 regularization). Default: 0.
        foreach, capturable: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative option; betas outside [0, 1).

    Source: Kingma, Ba, "Adam: a method for stochastic optimization", 2015, section 7.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adamax([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(adamax)
    numbers = ("decay", "weight", "kept", "eps", "minus_step")

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
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["exp_avg"] = zeros(p)
        state["exp_inf"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        (beta1, beta2), now = group["betas"], float(step) + 1
        return (
            group["weight_decay"],
            1 - beta1,
            beta2,
            group["eps"],
            -(group["lr"] / (1 - beta1**now)),
        ), (now,)
