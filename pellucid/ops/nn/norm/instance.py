"""Instance norm: a batch norm of each sample on its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....arrays.native import REAL
from ....core import tracing
from ....core.display.packing import given
from ....core.inplace import bump
from ....core.interpret import thread
from ....core.modes import no_grad
from ....core.primitive import TENSORS as F
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import FAST_TYPES, Tensor
from ....errors import ArgumentValueError, OperationError, ShapeError
from ..._few import Few
from ..._rules import require_tensor
from ._common import F32, channel_shape, check_floating, check_tensors, mixed_types, widen
from .batch import batch_norm, batch_norm_op, check_mapped, check_pair, nothing_normalised


def _move_by_instances(running: list[Any], a: Any, momentum: float) -> None:
    """Update running statistics with the mean, over the batch, of the statistics of each instance."""
    wide = widen(a)
    axes = tuple(range(2, a.ndim))
    count = math.prod(a.shape[2:])
    for r, value in zip(
        running,
        (wide.mean(axis=axes), wide.var(axis=axes) * count / max(count - 1, 1)),
        strict=True,
    ):
        r *= r.dtype.type(1 - momentum)
        r += (momentum * value.mean(axis=0)).astype(r.dtype)


_few = Few()


def _normalizer(a: np.ndarray, eps: float) -> Any:
    """Return a function that normalizes images of this shape and dtype. False if there is none."""
    shape, rows = a.shape, (1, a.shape[0] * a.shape[1], *a.shape[2:])
    if not a.flags.c_contiguous or a.dtype not in REAL or not a.size:
        return False
    run = batch_norm_op.numpy_forward
    return lambda x: run(x.reshape(rows), None, None, eps=eps)[0].reshape(shape)


@public(namespace="nn.functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Instance normalization: zero mean and unit variance for each channel of each sample.

    Args:
        input: `(N, C, ...)`.
        running_mean, running_var: running statistics `(C,)`, updated in place. Default: None.
        weight, bias: a factor and a term for each channel `(C,)`. Default: None.
        use_input_stats: use the statistics of the input instead of the running ones. Default: True.
        momentum: the weight of the input in the running statistics. Default: 0.1.
        eps: added to the variance. Default: 1e-5.

    Raises:
        ValueError: there is one value per channel and sample.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance Normalization", 2016.

    >>> import pellucid as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    alone = running_mean is running_var is weight is bias is None and use_input_stats is True
    alone = alone and type(eps) is float
    if alone and (quick := _few.made(input, eps)) is not None:
        return quick
    shape = require_tensor(input, "instance_norm")._array.shape
    check_tensors("instance_norm", weight, bias, running_mean, running_var)
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ArgumentValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(shape)})",
            op="instance_norm",
        )
    if not use_input_stats and (running_mean is None or running_var is None):
        raise OperationError(
            "Expected running_mean and running_var to be defined when use_input_stats is false",
            op="instance_norm",
        )
    check_pair(running_mean, running_var)
    if not math.prod(shape) and len(shape) > 1:
        return nothing_normalised(
            input, *[None if t is None else t.repeat(shape[0]) for t in (weight, bias)]
        )
    if len(shape) > 1:
        for name, t in (
            ("running_mean", running_mean),
            ("running_var", running_var),
            ("weight", weight),
            ("bias", bias),
        ):
            if t is None:
                continue
            if t._array.ndim > 1:
                raise ShapeError(
                    "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
                )
            if t._array.size != shape[1]:
                wanted, own = shape[0] * shape[1], shape[0] * t._array.size
                raise ShapeError(
                    f"{name} should contain {wanted} elements not {own}", op="instance_norm"
                )
    check_floating("batch_norm", input)
    # the statistics may have another dtype, but both the same one
    mixed_types("instance_norm", input, weight, bias)
    if running_mean is not None and use_input_stats and running_mean.dtype is input.dtype:
        mixed_types("instance_norm", input, input, running_var)
    if not use_input_stats:
        kind = input._array.dtype
        mean, var = (
            t
            if t is None or kind.itemsize == 2 and t._array.dtype == F32
            else F.cast(t, dtype=kind)
            for t in (running_mean, running_var)
        )
        return batch_norm(input, mean, var, weight, bias, False, momentum, eps)
    if len(shape) < 3:
        raise ShapeError(
            f"Expected at least 3 dimensions, but got {len(shape)}-dimensional tensor",
            op="instance_norm",
        )
    n, c = shape[0], shape[1]
    kept: list[Any] = [None, None]
    if thread.stack.save:  # hooks save the statistics before the update
        kept = [None if t is None else t.repeat(n) for t in (running_mean, running_var)]
    if input._array.size:
        check_mapped(input, running_mean, running_var)
    if running_mean is not None and type(running_mean) not in FAST_TYPES:
        rows = input.transpose(0, 1).reshape(c, n, -1)  # variances of each instance
        with no_grad():
            for t, found in ((running_mean, rows.mean((1, 2))), (running_var, rows.var(2).mean(1))):
                assert t is not None
                t.copy_(t * (1 - momentum) + found * momentum)
    elif running_mean is not None and running_var is not None and not input.is_meta:
        tracing.effect(
            _move_by_instances,
            [running_mean._array, running_var._array],
            input._array,
            momentum,
            writes=(0,),
        )
        for t in (running_mean, running_var):
            bump(t, "instance_norm")
    rows = input.reshape(1, n * c, *shape[2:])
    if weight is not None and weight._array.dtype != input._array.dtype:
        # compute in the dtype of the weight, and round once
        rows = F.cast(rows, dtype=weight._array.dtype)
    if input.dtype.itemsize != 2 and all(
        t is None or t.dtype is input.dtype for t in (weight, bias)
    ):
        each = [None if t is None else t.repeat(n) for t in (weight, bias)]
        with given(running_mean=kept[0], running_var=kept[1]):
            out = batch_norm_op.call(rows, *each, eps=float(eps)).view(shape)
        return _few.remember(input, (eps,), lambda a: _normalizer(a, eps), out) if alone else out
    with given(running_mean=kept[0], running_var=kept[1]):
        out = batch_norm_op.call(rows, None, None, eps=float(eps)).reshape(shape)
    affine = channel_shape(len(shape))
    if weight is not None:
        out = out * weight.reshape(affine)
    if bias is not None:
        out = out + bias.reshape(affine)
    if out.dtype is not input.dtype:  # two-byte images with parameters in float32
        out = F.cast(out, dtype=input._array.dtype)
    return out if weight is None else titled(out, "View", input, weight)
