"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from ..backends.kernels import enabled, kernels
from ..core.tensor import make_tensor
from .optimizer import ArrayOptimizer, add_decay, check, check_lr, decayed, to_number


class SGD(ArrayOptimizer):
    """p -= lr * buf, with buf = momentum * buf + (1 - dampening) * (grad + weight_decay * p); the first buf is the gradient.

    Args:
        params: parameters or groups of them.
        lr: learning rate.
        momentum, dampening, weight_decay: as in the formula.
        nesterov: step along grad + momentum * buf.
        maximize: climb instead of descending.
        differentiable: record the step, so that gradients flow through it to the start, the gradients and tensor options (the first
            momentum buffer counts as a constant, as in PyTorch); the parameter must not be a leaf that requires a gradient.
        foreach, fused: accepted; all parameters are updated in one native call where they are contiguous float32 arrays.

    Source: Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013 (Nesterov's form).
    """

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
        check(not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return bool(group["momentum"])

    def _fused(self, group: dict[str, Any], params: list[Any], grads: list[Any], states: list[dict[str, Any]]) -> bool:
        if not enabled():
            return False
        momentum = group["momentum"]
        buffers = None
        first = False
        if momentum:
            held: list[Any] = [state.get("momentum_buffer") for state in states]
            first = all(b is None for b in held)
            if first:
                buffers = [p.copy() for p in params]
            elif any(b is None for b in held):
                return False
            else:
                buffers = [b._array for b in held]
        done = kernels.optim.sgd(
            params, grads, buffers, lr=to_number(group["lr"]), momentum=momentum, dampening=group["dampening"],
            weight_decay=to_number(group["weight_decay"]), nesterov=group["nesterov"], maximize=group["maximize"], first_step=first,
        )  # fmt: skip
        if done and first and buffers is not None:
            for state, buffer in zip(states, buffers):
                state["momentum_buffer"] = make_tensor(buffer)
        return bool(done)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        g = add_decay(g, p, group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            buf = state.get("momentum_buffer")
            if buf is None:
                buf = state["momentum_buffer"] = g.copy()
            else:
                buf *= momentum
                buf += g * (1 - group["dampening"])
            g = g + buf * momentum if group["nesterov"] else buf
        p += g * -to_number(group["lr"])

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        g = decayed(g, p, group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            held = state.get("momentum_buffer")
            # The first buffer is a constant for the derivative, as in PyTorch.
            buf = g.detach().clone() if held is None else held * momentum + g * (1 - group["dampening"])
            state["momentum_buffer"] = buf
            g = g + buf * momentum if group["nesterov"] else buf
        return p - g * group["lr"]
