"""Muon: orthogonalized momentum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.native import kernels
from ..core.tensor import Tensor
from ..dtypes import bfloat16
from ..errors import ArgumentValueError
from ._arrays import ArrayOptimizer, zeros
from .adam import lerp
from .optimizer import check, to_number

_BF16 = bfloat16.numpy


def _rounded(a: Any) -> Any:
    """To bfloat16 and back: products are formed in float32 and rounded."""
    return a.astype(_BF16).astype(np.float32)


def orthogonalized(grad: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """Nearly U V^T for grad = U S V^T, by the Newton-Schulz iteration x <- a x + (b x x^T + c (x
    x^T)^2) x in bfloat16.
    """
    if steps >= 100:
        raise ArgumentValueError(
            "Number of steps must be less than 100 for computational efficiency"
        )
    if grad.ndim != 2:
        raise ArgumentValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ArgumentValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = _rounded(grad)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = _rounded(x / np.maximum(_rounded(np.sqrt((x * x).sum())), np.float32(eps)))
    for _ in range(steps):
        gram = _rounded(kernels.matmul.blas.matmul(x, x.T))
        x = _rounded(
            a * x
            + kernels.matmul.blas.matmul(
                _rounded(b * gram + c * kernels.matmul.blas.matmul(gram, gram)), x
            )
        )
    return x.T if tall else x


class Muon(ArrayOptimizer):
    """Muon: SGD with momentum whose step is replaced by the nearest orthogonal matrix; for 2-d
    parameters of hidden layers.

    Let another optimizer, such as AdamW, train embeddings, biases, norms and the last layer.

    Args:
        params: an iterable of 2-d parameters, or of groups of them.
        lr: learning rate. Default: 1e-3.
        weight_decay: multiplied by lr and subtracted from the parameters directly. Default: 0.1.
        momentum: how much of the last steps remains in their mean. Default: 0.95.
        nesterov: whether to look ahead along the mean. Default: True.
        ns_coefficients: the three of the Newton-Schulz iteration. Default: (3.4445, -4.775,
            2.0315).
        eps: lower bound of the norm that the iteration begins with. Default: 1e-7.
        ns_steps: number of iterations, below 100. Default: 5.
        adjust_lr_fn: how the rate depends on the matrix's shape: "original" multiplies it by
            sqrt(max(1, rows / columns)), "match_rms_adamw" by 0.2 * sqrt(max(rows, columns)), which
            suits the lr and weight decay of AdamW. Default: "original".

    Raises:
        ValueError: a parameter that is not 2-d; an option out of range.
        RuntimeError: a complex parameter.

    Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.Linear(4, 3, bias=False)
        >>> optimizer = torch.optim.Muon(layer.parameters(), lr=0.02)
        >>> layer(torch.ones(2, 4)).sum().backward()
        >>> optimizer.step()
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check(not isinstance(lr, Tensor) or lr._array.size == 1, "Tensor lr must be 1-element")
        check(0.0 <= to_number(lr), f"Learning rate should be >= 0 but is: {lr}")
        check(0.0 <= momentum, f"momentum should be >= 0 but is: {momentum}")
        check(0.0 <= weight_decay, f"weight decay should be >= 0 but is: {weight_decay}")
        check(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ArgumentValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}"
                    )

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        if p._array.dtype.kind == "c":
            raise RuntimeError("Muon does not support complex parameters")
        state["momentum_buffer"] = zeros(p)

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        lr, momentum = to_number(group["lr"]), group["momentum"]
        buf = state["momentum_buffer"]
        lerp(buf, g, 1 - momentum)
        direction = g + (buf - g) * momentum if group["nesterov"] else buf
        step = orthogonalized(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        p *= 1 - lr * group["weight_decay"]
        p -= step.astype(p.dtype) * (lr * ratio)
