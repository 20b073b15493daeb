"""What functions that PyTorch has in Python say of a first argument that is not a tensor: what they
do with it first fails.

Source: the behavior of PyTorch 2.13, held to it by `tests/oracle/test_error_texts.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Attributes that are asked for first.
_READ = {
    "nn.functional": {
        "size": (
            "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d binary_cross_entropy_with_logits instance_norm "
            "max_unpool1d max_unpool2d max_unpool3d binary_cross_entropy smooth_l1_loss l1_loss mse_loss gaussian_nll_loss huber_loss"
        ),
        "dim": "linear_cross_entropy group_norm local_response_norm interpolate margin_ranking_loss glu fractional_max_pool2d fractional_max_pool3d",
        "norm": "normalize",
        "softmax": "softmax",
        "log_softmax": "log_softmax",
        "sigmoid": "sigmoid",
        "is_cuda": "max_pool3d_with_indices",
        "abs": "softsign",
        "tanh": "tanhshrink tanh",
        "ndim": "triplet_margin_with_distance_loss",
    },
    "masked": {
        "layout": "sum prod",
        "dtype": (
            "cumsum cumprod amax amin argmax argmin mean median norm var std softmax log_softmax softmin normalize logaddexp logsumexp"
        ),
    },
    "torch": {"layout": "norm", "is_complex": "unravel_index", "split": "split"},
}
ATTRIBUTES = {
    f"{space}.{name}": attribute
    for space, found in _READ.items()
    for attribute, names in found.items()
    for name in names.split()
}
# Functions that are called with it first, under other names than the function's own.
_CALLED = {
    "nn.functional.cross_entropy": "cross_entropy_loss",
    "nn.functional.unfold": "im2col",
    "nn.functional.grid_sample": "grid_sampler",
    "nn.functional.nll_loss": "nll_loss_nd",
    "nn.functional.multilabel_soft_margin_loss": "log_sigmoid",
    "torch.lu": "_lu_with_info",
    "nn.functional.fold": "col2im",
    "nn.functional.logsigmoid": "log_sigmoid",
}


def refused(path: str, name: str, value: Any, shown: str) -> Exception | None:
    """PyTorch's error for a call of the function at `path`; None where nothing is known of it.

    Args:
        path: "nn.functional.glu".
        name: what the first parameter is called.
        value: the argument.
        shown: the name of its type as PyTorch shows it.

    Example:
        >>> refused("nn.functional.glu", "input", 3, "int")
        AttributeError("'int' object has no attribute 'dim'")
    """
    attribute = ATTRIBUTES.get(path)
    if attribute is not None:
        if hasattr(value, attribute):
            if attribute == "size" and isinstance(value, np.ndarray):
                return TypeError("'int' object is not callable")
            return None
        kind = (
            shown
            if isinstance(value, np.ndarray) or shown[:6] == "torch."
            else type(value).__name__
        )
        return AttributeError(f"{kind!r} object has no attribute {attribute!r}")
    if path == "nn.functional.softmin":
        return (
            None
            if hasattr(value, "__neg__")
            else TypeError(f"bad operand type for unary -: {type(value).__name__!r}")
        )
    if path == "torch.lu":
        name = "input"
    if path.startswith("nn.functional.") or path in _CALLED:
        called = _CALLED.get(path, path.rpartition(".")[2])
        return TypeError(f"{called}(): argument '{name}' (position 1) must be Tensor, not {shown}")
    return None
