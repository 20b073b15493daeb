"""Local response normalization."""

from __future__ import annotations

import math

from ....core.public import public
from ....core.tensor import Tensor
from ....errors import ArgumentValueError
from ..._rules import require_tensor
from ...shape.pad import pad
from ..pool.average import avg_pool2d, avg_pool3d


@public(namespace="nn.functional")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Local response normalization: divide each channel by `(k + alpha * mean of squares) ** beta`,
    with the mean over `size` neighboring channels.

    Args:
        input: `(N, C, ...)`.
        size: how many channels.
        alpha, beta, k: as in the formula. Default: 1e-4, 0.75 and 1.

    Source: Krizhevsky, Sutskever, Hinton, "ImageNet Classification with Deep Convolutional Neural
    Networks", 2012.

    >>> import pellucid as torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 1), 2, alpha=2.0).flatten()
    tensor([0.5946, 0.4387])
    """
    shape = require_tensor(input, "local_response_norm")._array.shape
    if len(shape) < 3:
        raise ArgumentValueError(
            f"Expected 3D or higher dimensionality                          input (got {len(shape)} dimensions)"
        )
    if math.prod(shape) == 0:
        return input
    squares, around = input * input, (size // 2, (size - 1) // 2)
    if len(shape) == 3:
        rows = pad(squares.unsqueeze(1), (0, 0, *around))
        mean = avg_pool2d(rows, (size, 1), stride=1).squeeze(1)
    else:
        rows = squares.view(shape[0], 1, shape[1], shape[2], -1)
        rows = avg_pool3d(pad(rows, (0, 0, 0, 0, *around)), (size, 1, 1), stride=1)
        mean = rows.squeeze(1).view(shape)
    return input / (mean * alpha + k) ** beta
