"""RMSprop."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ir.formula import decayed, nearer
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr

__all__ = ["RMSprop", "rmsprop"]


def rmsprop(
    m: Any,
    n: Any,
    param: Any,
    grad: Any,
    square_avg: Any,
    grad_avg: Any = None,
    momentum_buffer: Any = None,
) -> dict[str, Any]:
    """RMSprop's formula, for one element of each."""
    g = decayed(m, param, grad, n.decay)
    spread = m.fma(n.weight * g, g, square_avg * n.kept)
    new = {"square_avg": spread}
    if grad_avg is not None:
        mean = new["grad_avg"] = nearer(m, grad_avg, g, n.weight)
        spread = m.fma(-mean, mean, spread)
    scale = m.sqrt(spread) + n.eps
    if momentum_buffer is None:
        new["param"] = param + n.minus_lr * g / scale
    else:
        buf = new["momentum_buffer"] = momentum_buffer * n.momentum + g / scale
        new["param"] = m.fma(buf, n.minus_lr, param)
    return new


class RMSprop(FormulaOptimizer):
    """RMSprop: steps divided by the root of a running mean of squared gradients.

    For each parameter p with gradient g

        v = alpha * v + (1 - alpha) * g * g
        buf = momentum * buf + g / (sqrt(v) + eps)
        p = p - lr * buf

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 0.01.
        alpha: decay of the running mean. Default: 0.99.
        eps: added to the denominator. Default: 1e-8.
        weight_decay: times p, added to the gradient (L2 regularization). Default: 0.
        momentum: how much of the last step remains. Default: 0.
        centered: divide by the standard deviation instead: the running mean of g, squared, is taken
            off v. Default: False.
        capturable, foreach: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative option.

    Source: Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning", 2012; Graves,
    2013 (centered).

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.RMSprop([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(rmsprop)
    numbers = ("decay", "kept", "weight", "eps", "momentum", "minus_lr")

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
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["square_avg"] = zeros(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(p)
        if group["centered"]:
            state["grad_avg"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return (
            "square_avg",
            *["grad_avg"] * bool(group["centered"]),
            *["momentum_buffer"] * (group["momentum"] > 0),
        )

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        alpha = group["alpha"]
        return (
            group["weight_decay"],
            alpha,
            1 - alpha,
            group["eps"],
            group["momentum"],
            -group["lr"],
        ), (float(step) + 1,)
