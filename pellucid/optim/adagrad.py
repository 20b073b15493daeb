"""Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OperationError
from ..ir.formula import decayed
from ..nn.parameter import is_lazy, unusable
from ._arrays import full, step_counter
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr, to_number

__all__ = ["Adagrad", "adagrad"]


def adagrad(m: Any, n: Any, param: Any, grad: Any, sum: Any) -> dict[str, Any]:
    """Adagrad's formula, for one element of each."""
    g = decayed(m, param, grad, n.decay)
    total = m.fma(g, g, sum)
    return {"sum": total, "param": param + n.minus_rate * g / (m.sqrt(total) + n.eps)}


class Adagrad(FormulaOptimizer):
    """Adagrad: steps divided by the square root of the sum of all squared gradients so far.

    In step t (from 0), for each parameter p with gradient g

        sum = sum + g * g
        p = p - lr / (1 + t * lr_decay) * g / (sqrt(sum) + eps)

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 0.01.
        lr_decay: how fast the rate decays. Default: 0.
        weight_decay: times p, added to the gradient (L2 regularization). Default: 0.
        initial_accumulator_value: where the sum begins. Default: 0.
        eps: added to the denominator. Default: 1e-10.
        foreach, fused: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative option.
        RuntimeError: in `step`, a sparse gradient together with weight decay. Without it, sparse
            gradients update their rows only.

    Source: Duchi, Hazan, Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization", 2011.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adagrad([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(adagrad)
    numbers = ("decay", "eps", "minus_rate")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check(0.0 <= lr_decay, f"Invalid lr_decay value: {lr_decay}")
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        check(
            0.0 <= initial_accumulator_value,
            f"Invalid initial_accumulator_value value: {initial_accumulator_value}",
        )
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        # The sum exists before the first step, so that processes may share it.
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(group, p, self.state[p])

    def _init_state(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        if is_lazy(p):
            raise unusable("is_complex")
        start = group["initial_accumulator_value"]
        state["step"] = step_counter()
        state["sum"] = full(p, complex(start, start) if p.is_complex() else start)

    def share_memory(self) -> None:
        """Nothing: state is shared when it is sent to another process."""

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        before = float(step)
        rate = group["lr"] / (1 + before * group["lr_decay"])
        return (group["weight_decay"], group["eps"], -rate), (before + 1,)

    def _sparse_update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        if group["weight_decay"]:
            raise OperationError("weight_decay option is not compatible with sparse gradients")
        rate = -to_number(group["lr"]) / (1 + state["step"].item() * group["lr_decay"])
        state["step"]._array[...] += 1
        g = g.coalesce()
        index, v, total = g.index(), g.values, state["sum"]._array
        total[index] += v * v
        self._add_sparse(p, g.like(v / (np.sqrt(total[index]) + group["eps"])), rate)
