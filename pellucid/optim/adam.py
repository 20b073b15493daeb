"""Adam, AdamW and AMSGrad."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import ArgumentValueError, OperationError
from ..ir.formula import decayed, nearer
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .optimizer import check, check_lr, to_number

__all__ = ["Adam", "adam"]


def check_betas(betas: Any) -> None:
    """Refuse decay rates outside [0, 1)."""
    for k in (0, 1):
        check(0.0 <= to_number(betas[k]) < 1.0, f"Invalid beta parameter at index {k}: {betas[k]}")


def decays(group: dict[str, Any]) -> tuple[Any, Any]:
    """What decoupled weight decay multiplies parameters with, and the decay that is added to
    gradients.
    """
    decay = group["weight_decay"]
    return (1 - group["lr"] * decay, 0.0) if group["decoupled_weight_decay"] else (1.0, decay)


def adam(
    m: Any, n: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any, max_exp_avg_sq: Any = None
) -> dict[str, Any]:
    """Adam's formula, for one element of each."""
    param = param * n.shrink
    g = decayed(m, param, grad, n.decay)
    mean = nearer(m, exp_avg, g, n.mean_weight)
    square = m.fma(n.square_weight * g, g, exp_avg_sq * n.square_kept)
    new = {"exp_avg": mean, "exp_avg_sq": square}
    if max_exp_avg_sq is not None:
        square = new["max_exp_avg_sq"] = m.maximum(square, max_exp_avg_sq)
    denominator = m.sqrt(square) / n.correction + n.eps
    new["param"] = param + n.minus_step * mean / denominator
    return new


class Adam(FormulaOptimizer):
    """Adam: steps along the running mean of the gradients, divided by the root of the running mean
    of their squares.

    In step t, for each parameter p with gradient g

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 1e-3.
        betas: decay of the mean of gradients, and of their squares. Default: (0.9, 0.999).
        eps: added to the denominator. Default: 1e-8.
        weight_decay: times p, added to the gradient; subtracted from p directly with
            `decoupled_weight_decay`. Default: 0.
        amsgrad: divide by the largest mean square so far. Default: False.
        foreach, fused, capturable: accepted; all parameters are updated in one native call where
            they are contiguous, in float32 or float64.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.
        decoupled_weight_decay: decay the weights as AdamW does. Default: False.

    Raises:
        ValueError: a negative `lr`, `eps` or `weight_decay`; betas outside [0, 1).
        RuntimeError: in `step`, a sparse gradient; SparseAdam takes those.

    Source: Kingma, Ba, "Adam: a method for stochastic optimization", 2015; Reddi, Kale, Kumar, "On
    the convergence of Adam and beyond", 2018 (amsgrad).

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adam([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(adam)
    numbers = (
        "shrink",
        "decay",
        "mean_weight",
        "square_weight",
        "square_kept",
        "correction",
        "eps",
        "minus_step",
    )

    def _sparse_update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        raise OperationError(
            "Adam does not support sparse gradients, please consider SparseAdam instead"
        )

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ArgumentValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        kinds = [isinstance(b, Tensor) for b in betas]
        check(
            all(kinds) or all(isinstance(b, float) for b in betas),
            "betas must be either both floats or both Tensors",
        )
        for k in (0, 1):
            if kinds[k]:
                check(
                    capturable or not foreach,
                    f"betas[{k}] as a Tensor is not supported for capturable=False and foreach=True",
                )
                check(betas[k].numel() == 1, f"Tensor betas[{k}] must be 1-element")
        betas = tuple(b if differentiable else to_number(b) for b in betas)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return (
            ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
            if group["amsgrad"]
            else ("exp_avg", "exp_avg_sq")
        )

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        (beta1, beta2), lr, now = group["betas"], group["lr"], float(step) + 1
        shrink, decay = 1.0, group["weight_decay"]
        if group["decoupled_weight_decay"]:
            shrink, decay = 1 - lr * decay, 0.0
        correction = (1 - beta2**now) ** 0.5
        return (
            shrink,
            decay,
            1 - beta1,
            1 - beta2,
            beta2,
            correction,
            group["eps"],
            -(lr / (1 - beta1**now)),
        ), (now,)


def lerp(start: Any, end: Any, weight: float) -> None:
    """Move `start` towards `end`, in place, from the end that is nearer."""
    if weight < 0.5:
        start += weight * (end - start)
    else:
        start[...] = end - (end - start) * (1 - weight)
