"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from ..errors import OperationError
from ..ir.formula import decayed
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr, to_number

__all__ = ["SGD", "sgd"]


def sgd(
    m: Any,
    n: Any,
    param: Any,
    grad: Any,
    momentum_buffer: Any = None,
    nesterov: bool = False,
    begins: bool = False,
) -> dict[str, Any]:
    """The formula of SGD, for one element of each; the buffer begins as the gradient."""
    g = decayed(m, param, grad, n.decay)
    if momentum_buffer is None and not begins:
        return {"param": m.fma(g, n.minus_lr, param)}
    buf = m.constant(g) if begins else m.fma(g, n.undamped, momentum_buffer * n.momentum)
    step = m.fma(buf, n.momentum, g) if nesterov else buf
    return {"momentum_buffer": buf, "param": m.fma(step, n.minus_lr, param)}


class SGD(FormulaOptimizer):
    """Stochastic gradient descent with momentum and weight decay.

    For each parameter p with gradient g

        g = g + weight_decay * p
        buf = momentum * buf + (1 - dampening) * g      the first buf is g
        p = p - lr * buf                                nesterov: p - lr * (g + momentum * buf)

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 1e-3.
        momentum: how much of the last step remains. Default: 0.
        dampening: share of the gradient that is left out of the buffer. Default: 0.
        weight_decay: times p, added to the gradient (L2 regularization). Default: 0.
        nesterov: step along grad + momentum * buf. Default: False.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False. The first momentum buffer counts as a constant, as in PyTorch.
        foreach, fused: accepted; all parameters are updated in one native call where they are
            contiguous, in float32 or float64.

    Raises:
        ValueError: a negative option; `nesterov` without momentum or with dampening.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning",
    2013 (Nesterov's form).

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
        >>> optimizer.zero_grad()
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.data
        tensor([0.8000])
    """

    formula = staticmethod(sgd)
    numbers = ("decay", "minus_lr", "undamped", "momentum")
    scalars = ()
    begins = ("momentum_buffer",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(to_number(weight_decay) >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(
            not nesterov or (momentum > 0 and dampening == 0),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return bool(group["momentum"])

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _flags(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("nesterov",) if group["nesterov"] and group["momentum"] else ()

    def _numbers(self, group: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        momentum = group["momentum"]
        return (group["weight_decay"], -group["lr"], 1 - group["dampening"], momentum), ()

    def _sparse_update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        if group["weight_decay"]:
            raise OperationError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        lr, momentum = to_number(group["lr"]), group["momentum"]
        if momentum:
            held = state.get("momentum_buffer")
            held = (
                g.copy() if held is None else momentum * held._array + (1 - group["dampening"]) * g
            )
            state["momentum_buffer"] = held.tensor()
            g = g + momentum * held if group["nesterov"] else held
        self._add_sparse(p, g, -lr)
