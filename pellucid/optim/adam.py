"""Adam and its relatives with decoupled weight decay and with the maximum of the second moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.kernels import enabled, kernels
from ..core.tensor import Tensor
from ..errors import ArgumentValueError
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, mixed, step_counter, to_number, zeros


def check_betas(betas: Any) -> None:
    """Refuse decay rates outside [0, 1)."""
    for k in (0, 1):
        check(0.0 <= to_number(betas[k]) < 1.0, f"Invalid beta parameter at index {k}: {betas[k]}")


class Adam(ArrayOptimizer):
    """Steps along the mean of the gradients divided by the root of the mean of their squares.

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        betas: decay of the mean of gradients, and of their squares.
        eps: added to the denominator.
        weight_decay: times p, added to the gradient; taken off p directly with `decoupled_weight_decay`.
        amsgrad: divide by the largest mean square so far.
        maximize: climb instead of descending.
        differentiable: record the step, so that gradients flow through it to the start, the gradients and tensor options; the
            parameter must not be a leaf that requires a gradient.
        foreach, fused, capturable: accepted; all parameters are updated in one native call where they are contiguous float32 arrays.

    Source: Kingma, Ba, "Adam", 2015; Reddi, Kale, Kumar, "On the convergence of Adam and beyond", 2018.
    """

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
            raise ArgumentValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check(0.0 <= eps, f"Invalid epsilon value: {eps}")
        check_betas(betas)
        check(0.0 <= weight_decay, f"Invalid weight_decay value: {weight_decay}")
        kinds = [isinstance(b, Tensor) for b in betas]
        check(all(kinds) or all(isinstance(b, float) for b in betas), "betas must be either both floats or both Tensors")
        for k in (0, 1):
            if kinds[k]:
                check(capturable or not foreach, f"betas[{k}] as a Tensor is not supported for capturable=False and foreach=True")
                check(betas[k].numel() == 1, f"Tensor betas[{k}] must be 1-element")
        betas = tuple(b if differentiable else to_number(b) for b in betas)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        state["step"] = step_counter()
        state["exp_avg"] = zeros(p)
        state["exp_avg_sq"] = zeros(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(p)

    def _fused(self, group: dict[str, Any], params: list[Any], grads: list[Any], states: list[dict[str, Any]]) -> bool:
        if not enabled():
            return False
        counters = [state["step"]._array for state in states]
        before = counters[0].item()
        if any(c.item() != before for c in counters):
            return False
        largest = [s["max_exp_avg_sq"]._array for s in states] if group["amsgrad"] else None
        done = kernels.optim.adam(
            params, grads, [s["exp_avg"]._array for s in states], [s["exp_avg_sq"]._array for s in states], largest,
            step=int(before) + 1, lr=to_number(group["lr"]), beta1=group["betas"][0], beta2=group["betas"][1], eps=group["eps"],
            weight_decay=group["weight_decay"], decoupled=group["decoupled_weight_decay"], maximize=group["maximize"],
        )  # fmt: skip
        if done:
            for counter in counters:
                counter.fill(before + 1)
        return bool(done)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr = to_number(group["lr"])
        state["step"] += 1
        step = float(state["step"])
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                p *= 1 - lr * group["weight_decay"]
            else:
                g = add_decay(g, p, group["weight_decay"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        lerp(mean, g, 1 - beta1)
        square *= beta2
        square += g * g * (1 - beta2)
        if group["amsgrad"]:
            np.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
            square = state["max_exp_avg_sq"]
        denominator = np.sqrt(square)
        denominator /= (1 - beta2**step) ** 0.5
        denominator += group["eps"]
        p += mean * -(lr / (1 - beta1**step)) / denominator

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        state["step"] += 1
        step = float(state["step"])
        if group["decoupled_weight_decay"]:
            p = p * (1 - lr * decay)
        else:
            g = decayed(g, p, decay)
        mean = state["exp_avg"] = mixed(state["exp_avg"], g, 1 - beta1)
        square = state["exp_avg_sq"] = mixed(state["exp_avg_sq"], g * g, 1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"] = state["max_exp_avg_sq"].maximum(square)
        denominator = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        return p - mean * (lr / (1 - beta1**step)) / denominator


def lerp(start: Any, end: Any, weight: float) -> None:
    """Move `start` towards `end`, in place, from the end that is nearer."""
    if weight < 0.5:
        start += weight * (end - start)
    else:
        start[...] = end - (end - start) * (1 - weight)
