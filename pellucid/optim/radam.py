"""Adam with a rectified adaptive rate."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ir.formula import chosen, decayed, nearer
from ._arrays import step_counter, zeros
from ._formula import FormulaOptimizer
from .adam import check_betas, decays
from .optimizer import check, check_lr

__all__ = ["RAdam", "radam"]


def radam(m: Any, n: Any, param: Any, grad: Any, exp_avg: Any, exp_avg_sq: Any) -> dict[str, Any]:
    """RAdam's formula, for one element of each; `rectified` is 0 while the variance is not known
    well enough.
    """
    param = param * n.shrink
    g = decayed(m, param, grad, n.decay)
    mean = nearer(m, exp_avg, g, n.mean_weight)
    square = m.fma(n.square_weight * g, g, exp_avg_sq * n.square_kept)
    plain = mean / n.mean_correction * n.lr
    adapted = plain * (n.root_correction / (m.sqrt(square) + n.eps)) * n.rectified
    step = chosen(m, m.differs(n.rectified, 0.0), lambda: adapted, lambda: plain)
    return {"exp_avg": mean, "exp_avg_sq": square, "param": param - step}


class RAdam(FormulaOptimizer):
    """Rectified Adam: starts without the adaptive rate until its variance is small enough.

    While the length `rho = 2 / (1 - beta2) - 1 - 2 t beta2^t / (1 - beta2^t)` is at most 5, the
    step is `lr * m / (1 - beta1^t)`, momentum alone. Later it is Adam's step times a factor that
    rises to 1. So it needs no warmup of the learning rate.

    Args:
        params: an iterable of parameters, of (name, parameter) pairs, or of dictionaries: groups
            with their own options.
        lr: learning rate, a number or a tensor of one element. Default: 1e-3.
        betas: decay of the mean of gradients, and of their squares. Default: (0.9, 0.999).
        eps: added to the denominator. Default: 1e-8.
        weight_decay: times p, added to the gradient; subtracted from p directly with
            `decoupled_weight_decay`. Default: 0.
        decoupled_weight_decay: decay the weights as AdamW does. Default: False.
        foreach, capturable: accepted.
        maximize: maximize the objective instead of minimizing it. Default: False.
        differentiable: record the step, so that gradients flow through it to the start, the
            gradients and tensor options; the parameter must not be a leaf that requires a gradient.
            Default: False.

    Raises:
        ValueError: a negative option; betas outside [0, 1).

    Source: Liu et al., "On the variance of the adaptive learning rate and beyond", 2020.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.RAdam([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.item() < 1
        True
    """

    formula = staticmethod(radam)
    numbers = (
        "shrink",
        "decay",
        "mean_weight",
        "square_weight",
        "square_kept",
        "mean_correction",
        "root_correction",
        "eps",
        "lr",
        "rectified",
    )

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)

    def _arrays(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _numbers(self, group: dict[str, Any], step: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        (beta1, beta2), lr, now = group["betas"], group["lr"], float(step) + 1
        shrink, decay = decays(group)
        correction = 1 - beta2**now
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * now * beta2**now / correction
        rectified = 0.0
        if length > 5.0:
            rectified = (
                (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            ) ** 0.5
        weights = 1 - beta1, 1 - beta2, beta2
        return (
            shrink,
            decay,
            *weights,
            1 - beta1**now,
            correction**0.5,
            group["eps"],
            lr,
            rectified,
        ), (now,)
