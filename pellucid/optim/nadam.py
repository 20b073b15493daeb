"""Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ir.formula import decayed, nearer
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .adam import check_betas, decays
from .optimizer import check, check_lr

__all__ = ["NAdam", "nadam"]


def nadam(m: Any, n: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any) -> dict[str, Any]:
    """NAdam's formula, for one element of each."""
    param = param * n.shrink
    g = decayed(m, param, grad, n.decay)
    mean = nearer(m, exp_avg, g, n.mean_weight)
    square = m.fma(n.square_weight * g, g, exp_avg_sq * n.square_kept)
    denominator = m.sqrt(square / n.correction) + n.eps
    param = param + n.minus_gradient * g / denominator
    return {
        "exp_avg": mean,
        "exp_avg_sq": square,
        "param": param + n.minus_ahead * mean / denominator,
    }


class NAdam(FormulaOptimizer):
    """Adam with Nesterov momentum.

    In step t, with `mu(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2)`, M(t) the product of mu(1)
    to mu(t), and m and v as in Adam

        p = p - lr * (mu(t+1) * m / (1 - M(t+1)) + (1 - mu(t)) * g / (1 - M(t))) / (sqrt(v / (1 - beta2^t)) + eps)
        m = beta1 * m + (1 - beta1) * g, v = beta2 * v + (1 - beta2) * g * g, both before p

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 2e-3.
        betas: decay of the mean of gradients, and of their squares. Default: (0.9, 0.999).
        eps: added to the denominator. Default: 1e-8.
        weight_decay: times p, added to the gradient; subtracted from p directly with
            `decoupled_weight_decay`. Default: 0.
        momentum_decay: how fast the momentum reaches beta1. Default: 4e-3.
        decoupled_weight_decay: decay the weights as AdamW does. Default: False.
        foreach, capturable: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative option; betas outside [0, 1).

    Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.NAdam([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(nadam)
    numbers = (
        "shrink",
        "decay",
        "mean_weight",
        "square_weight",
        "square_kept",
        "correction",
        "eps",
        "minus_gradient",
        "minus_ahead",
    )
    scalars = ("step", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        check(0.0 <= momentum_decay, f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["mu_product"] = step_counter()
        state["mu_product"]._array[...] = 1.0
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _numbers(
        self, group: dict[str, Any], step: Any, product: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        (beta1, beta2), lr, now = group["betas"], group["lr"], float(step) + 1
        shrink, decay = decays(group)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (now * group["momentum_decay"])))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((now + 1) * group["momentum_decay"])))
        product = product * mu  # in float32 where that is the counter's type
        exact = product if isinstance(product, Tensor) else float(product)
        gradient, ahead = -lr * (1.0 - mu) / (1.0 - exact), -lr * mu_next / (1.0 - exact * mu_next)
        return (
            shrink,
            decay,
            1 - beta1,
            1 - beta2,
            beta2,
            1 - beta2**now,
            group["eps"],
            gradient,
            ahead,
        ), (now, product)
