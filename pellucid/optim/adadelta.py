"""Adadelta."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ir.formula import decayed
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr

__all__ = ["Adadelta", "adadelta"]


def adadelta(
    m: Any, n: Any, param: Any, grad: Any, square_avg: Any, acc_delta: Any
) -> dict[str, Any]:
    """Adadelta's formula, for one element of each."""
    g = decayed(m, param, grad, n.decay)
    square = m.fma(n.weight * g, g, square_avg * n.kept)
    delta = m.sqrt(acc_delta + n.eps) / m.sqrt(square + n.eps) * g
    steps = m.fma(n.weight * delta, delta, acc_delta * n.kept)
    return {"square_avg": square, "acc_delta": steps, "param": m.fma(delta, n.minus_lr, param)}


class Adadelta(FormulaOptimizer):
    """Adadelta: steps scaled by the RMS of earlier steps divided by the RMS of the gradients.

    For each parameter p with gradient g

        v = rho * v + (1 - rho) * g * g
        delta = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * delta * delta
        p = p - lr * delta

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 1.
        rho: decay of both running means. Default: 0.9.
        eps: added under both roots. Default: 1e-6.
        weight_decay: times p, added to the gradient (L2 regularization). Default: 0.
        foreach, capturable: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative option; rho outside [0, 1].

    Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adadelta([p])
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(adadelta)
    numbers = ("decay", "kept", "weight", "eps", "minus_lr")

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
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["square_avg"] = zeros(p)
        state["acc_delta"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        rho = group["rho"]
        return (group["weight_decay"], rho, 1 - rho, group["eps"], -group["lr"]), (float(step) + 1,)
