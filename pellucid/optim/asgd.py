"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ir.formula import chosen, decayed
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr, to_number

__all__ = ["ASGD", "asgd"]


def asgd(m: Any, n: Any, param: Any, grad: Any, ax: Any) -> dict[str, Any]:
    """ASGD's formula, for one element of each."""
    g = decayed(m, param, grad, n.decay)
    param = m.fma(g, n.minus_eta, param * n.shrink)
    mean = chosen(m, m.differs(n.mu, 1.0), lambda: ax + (param - ax) * n.mu, lambda: param)
    return {"param": param, "ax": mean}


class ASGD(FormulaOptimizer):
    """Averaged SGD: SGD with a decaying rate that also keeps a running mean of the parameters, in
    `state[p]["ax"]`.

    In step t, for each parameter p with gradient g, where eta begins as lr and mu as 1

        p = p - lambd * eta * p - eta * g
        ax = ax + mu * (p - ax)
        eta = lr / (1 + lambd * lr * t)^alpha, mu = 1 / max(1, t - t0)

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 0.01.
        lambd: decay of the parameters and the rate. Default: 1e-4.
        alpha: power of the rate's decay. Default: 0.75.
        t0: step from which parameters are averaged. Default: 1e6.
        weight_decay: times p, added to the gradient (L2 regularization). Default: 0.
        foreach, capturable: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative `lr` or `weight_decay`.

    Source: Polyak, Juditsky, "Acceleration of stochastic approximation by averaging", 1992.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.ASGD([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(asgd)
    numbers = ("decay", "shrink", "minus_eta", "mu")
    scalars = ("step", "eta", "mu")

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
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["eta"] = step_counter()
        state["eta"]._array[...] = to_number(group["lr"])
        state["mu"] = step_counter()
        state["mu"]._array[...] = 1.0
        state["ax"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def _numbers(
        self, group: dict[str, Any], step: Any, eta: Any, mu: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        lr, lambd, now = group["lr"], group["lambd"], float(step) + 1
        eta = eta if isinstance(eta, Tensor) else float(eta)
        after = now, lr / ((1 + lambd * lr * now) ** group["alpha"]), 1 / max(1, now - group["t0"])
        return (group["weight_decay"], 1 - lambd * eta, -eta, float(mu)), after
