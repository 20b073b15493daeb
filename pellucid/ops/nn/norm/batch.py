"""Batch norm, by the batch's statistics or by given ones, and its running statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import config
from ....arrays import numpy_cpu
from ....arrays.halves import HALVES, in_float32
from ....arrays.native import fused, kernels
from ....arrays.numpy_cpu import as_array, written
from ....core import tracing
from ....core.bind import wrap
from ....core.display.packing import given, only_saves
from ....core.inplace import bump
from ....core.interpret import thread
from ....core.modes import no_grad, state
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import FAST_TYPES, Tensor
from ....errors import ArgumentValueError, OperationError, ShapeError
from ....ir import formula
from ....shapes import is_channels_last
from ..._rules import asked_for, require_tensor
from ..._rules import constant as as_constant
from ..._samples import Sample
from ._common import (
    F32,
    KERNELS,
    again,
    as_suggested,
    channel_shape,
    check_floating,
    check_tensors,
    input_grad,
    keeps,
    mixed_types,
    normalize_over,
    recompute,
    widen,
)

LEAST = 1 << 12  # from this many elements on, a kernel is used


def _batch_norm(xp: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_batch_norm, xp, x, weight, bias, eps=eps)
    if xp is numpy_cpu and x.dtype in KERNELS and x.size and config.kernels:
        made = kernels.rows.channel_norm.batch_norm(x, weight, bias, None, None, 0.0, eps)
        if made is not None:
            return as_suggested(made[0], x), ("kernel", made[1], made[2])
    axes = (0, *range(2, x.ndim))
    xhat, mean, rstd = normalize_over(xp, x, axes, eps, True)
    out = xhat
    shape = channel_shape(x.ndim)
    if weight is not None:
        out = out * weight.reshape(shape)
    if bias is not None:
        out = out + bias.reshape(shape)
    return as_suggested(out.astype(x.dtype, copy=False), x), (
        "plain",
        mean.reshape(-1),
        rstd.reshape(-1),
    )


def _batch_norm_vjp(
    F: Any, g: Any, input: Any, weight: Any, bias_shape: Any, aux: Any, needs: Any, eps: float
) -> tuple[Any, ...]:
    kind, mean, rstd = aux
    if F.raw and kind == "kernel":
        made = kernels.rows.channel_norm.batch_norm_backward(g, input, mean, rstd, weight)
        if made is not None:
            gx = as_suggested(made[0], input)
            return gx, made[1] if needs[1] else None, made[2] if needs[2] else None
    ndim = len(input.shape)
    axes = (0, *range(2, ndim))
    count = math.prod(input.shape) // max(input.shape[1], 1)
    shape = channel_shape(ndim)
    if F.raw:
        rstd = rstd.reshape(shape)
        xhat = (widen(input) - mean.reshape(shape)) * rstd
    else:
        xhat, rstd = recompute(F, input, axes, count, eps, True)
    gw = F.sum(g * xhat, dim=axes, keepdim=False) if needs[1] else None
    gb = F.sum(g, dim=axes, keepdim=False) if needs[2] else None
    scaled = g * F.reshape(weight, shape=shape) if weight is not None else g
    gx = input_grad(F, scaled, xhat, rstd, axes, count, True) if needs[0] else None
    return as_suggested(gx, input) if F.raw else gx, gw, gb


def _onnx_batch_norm(c: Any) -> Any:
    """Translate a batch norm with the statistics of the batch (training, or an instance norm
    written as a batch of one).
    """
    rank = len(c.shape())
    axes = [k for k in range(rank) if k != 1]
    d = c.emit("Sub", c[0], c.reduce("ReduceMean", c[0], axes, True))
    variance = c.reduce("ReduceMean", c.emit("Mul", d, d), axes, True)
    out = c.emit("Div", d, c.emit("Sqrt", c.emit("Add", variance, c.number(c.p["eps"]))))
    for k, op in ((1, "Mul"), (2, "Add")):
        if c.has(k):
            out = c.emit(op, out, c.emit("Reshape", c[k], c.ints([1, -1] + [1] * (rank - 2))))
    return out


batch_norm_op = defop(
    "batch_norm",
    "input weight? bias?",
    forward=_batch_norm,
    aux=True,
    aval=lambda x, w, b, **_: x,
    vjp=_batch_norm_vjp,
    grad_name="NativeBatchNorm",
    packs=(keeps, again),
    linked="input? weight?",
    traits="recentres",
    onnx=_onnx_batch_norm,
    samples=lambda rng: [
        Sample((rng.random((3, 2, 4)), rng.random(2), rng.random(2)), {"eps": 1e-5}),
        Sample((rng.random((5, 3)), None, None), {"eps": 1e-3}),
    ],
    shows={"training": lambda: True},
)


formula.FORMULAS["normalized"] = formula.Formula(lambda m, x, mean, rstd: (x - mean) * rstd)

formula.FORMULAS["normalized_affine"] = formula.Formula(
    lambda m, x, mean, rstd, weight, bias: (x - mean) * rstd * weight + bias
)


def _by_statistics(xp: Any, x: Any, weight: Any, bias: Any, *, mean: Any, rstd: Any) -> Any:
    if xp is numpy_cpu and config.kernels and x.size >= LEAST:
        made = kernels.rows.affine.normalized(x, mean, rstd, weight, bias)
        if made is not None:
            return as_suggested(made, x)
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_by_statistics, xp, x, weight, bias, mean=mean, rstd=rstd)
    mean, rstd = xp.from_host((mean, rstd))
    shape = channel_shape(x.ndim)
    if xp is numpy_cpu and x.dtype in KERNELS and (weight is None) == (bias is None):
        run = fused("normalized" if weight is None else "normalized_affine", x)
        if run is not None:
            given = () if weight is None else (weight.reshape(shape), bias.reshape(shape))
            return as_suggested(run(x, mean, rstd, *given), x)
    out = (x - mean) * rstd
    if weight is not None:
        out = out * weight.reshape(shape)
    return as_suggested(out if bias is None else out + bias.reshape(shape), x)


def _by_statistics_vjp(
    F: Any, g: Any, input: Any, weight: Any, needs: Any, mean: Any, rstd: Any
) -> tuple[Any, ...]:
    axes = (0, *range(2, len(input.shape)))
    mean, rstd = as_constant(F, mean), as_constant(F, rstd)
    gw = F.sum(g * ((input - mean) * rstd), dim=axes, keepdim=False) if needs[1] else None
    gb = F.sum(g, dim=axes, keepdim=False) if needs[2] else None
    if not needs[0]:
        return None, gw, gb
    scale = rstd
    if weight is not None:
        scale = F.reshape(weight, shape=channel_shape(len(input.shape))) * rstd
    return as_suggested(g * scale, input) if F.raw else g * scale, gw, gb


def _keeps_given(
    input: Any, weight: Any, running_mean: Any, running_var: Any, mean: Any
) -> list[Any]:
    # there are no statistics of the batch
    return [
        input,
        running_mean,
        running_var,
        weight,
        np.empty(0, mean.dtype),
        np.empty(0, mean.dtype),
    ]


batch_norm_by_statistics = defop(
    "batch_norm_by_statistics",
    "input weight? bias?",
    forward=_by_statistics,
    aval=lambda x, w, b, **_: x,
    vjp=_by_statistics_vjp,
    packs=(_keeps_given, lambda kept: {"input": kept[0], "weight": kept[3]}),
    grad_name="NativeBatchNorm",
    linked="input? weight?",
    samples=lambda rng: [
        Sample(
            (rng.random((3, 2, 4)), *(rng.random(2) if here else None for here in affine)),
            {"mean": rng.random((1, 2, 1)), "rstd": rng.random((1, 2, 1))},
        )
        for affine in ((True, True), (False, False), (True, False))
    ],
    shows={"training": lambda: False},
)


def _at_once(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Tensor | None:
    """Compute batch norm by given statistics as one operation, for plain tensors; None for others.
    The bits are those of the composed operations, except that two-byte floats are computed in
    float32 and rounded once.
    """
    others = [t for t in (mean, variance, weight, bias) if t is not None]
    kind = x._array.dtype
    wide = F32 if kind in HALVES else kind
    if state.slow and not only_saves() or mean._rg or variance._rg or wide.char not in "fd":
        return None
    for t in (x, *others):
        if type(t) not in FAST_TYPES or type(t._array) is not np.ndarray:
            return None
        if t._array.dtype is not kind and t._array.dtype is not wide:
            return None
    shape = channel_shape(x._array.ndim)
    rstd = _reciprocal_deviation(variance, eps, shape, wide)
    with given(running_mean=mean, running_var=variance):
        return batch_norm_by_statistics.call(
            x, weight, bias, mean=mean._array.reshape(shape).astype(wide), rstd=rstd
        )


@public(namespace="nn.functional")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | None = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over each channel of `(N, C, ...)`, then `* weight + bias`.

    In training the batch's own statistics are used, and `running_mean` / `running_var` move towards
    them by `momentum` (the variance without bias); otherwise the running ones are used.

    Args:
        input: `(N, C, ...)`.
        running_mean, running_var: `(C,)`, changed in place in training; None only there.
        weight, bias: `(C,)` or None.
        training: which statistics are used. Default: False.
        momentum: share of the batch in the new running statistics. Default: 0.1.
        eps: added to the variance. Default: 1e-5.

    Raises:
        ValueError: one value per channel in training.

    Source: Ioffe, Szegedy, "Batch Normalization", 2015.

    >>> import pellucid as torch
    >>> x = torch.tensor([[1.0], [3.0]])
    >>> torch.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        asked_for("size", input)
    a = require_tensor(input, "batch_norm")._array
    check_tensors("batch_norm", weight, bias, running_mean, running_var)
    if a.ndim == 1 and a.size == 0:
        return input.clone()
    if training:
        if eps <= 0.0:
            raise ArgumentValueError(
                f"batch_norm eps must be positive during training, but got {eps}"
            )
        check_several_values(a.shape)
    elif eps < 0.0:
        raise ArgumentValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if a.ndim < 2:
        raise ShapeError(
            f"Expected at least 2 dimensions, but got {a.ndim}-dimensional tensor", op="batch_norm"
        )
    if not a.size:
        return nothing_normalised(input, weight, bias)
    check_floating("batch_norm", input)
    if training:
        check_pair(running_mean, running_var)
    mixed_types("batch_norm", input, weight, bias, running_mean, running_var)
    channels = a.shape[1]
    for name, t in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if t is not None and t._array.size != channels:
            raise ShapeError(
                f"{name} should contain {channels} elements not {t._array.size}", op="batch_norm"
            )
    if not training:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise OperationError(f"{missing} must be defined in evaluation mode", op="batch_norm")
        made = _at_once(input, running_mean, running_var, weight, bias, eps)
        if made is not None:
            return made
        shape = channel_shape(a.ndim)
        wide = F32 if a.dtype in HALVES else a.dtype
        x = input if wide is a.dtype else F.cast(input, dtype=wide)
        if not (input.is_contiguous() or is_channels_last(a.shape, input.stride())):
            x = x.contiguous()
        rstd = _reciprocal_deviation(running_var, eps, shape, wide)
        out = (x - F.cast(_shaped(running_mean, shape), dtype=wide)) * wrap(rstd)
        if running_var._rg or running_mean._rg:
            out = (x - running_mean.reshape(shape)) / (running_var.reshape(shape) + eps).sqrt()
        if weight is not None:
            out = out * weight.reshape(shape)
        if bias is not None:
            out = out + bias.reshape(shape)
        return titled(
            out if out._array.dtype == a.dtype else F.cast(out, dtype=a.dtype), "NativeBatchNorm"
        )
    if input._array.size:
        check_mapped(input, running_mean, running_var)
    moves = (running_mean is not None or running_var is not None) and not input.is_meta and a.size
    share = 0.0 if momentum is None else momentum
    # Saving may end the call (for a checkpoint). PyTorch has updated the running statistics by
    # then.
    if moves and type(running_mean) not in FAST_TYPES:  # samples of a `vmap`
        move_in_operations(input, (running_mean, running_var), share)
        moves = False
    if not thread.stack.save:
        out = batch_norm_op.call(input, weight, bias, eps=float(eps))
    else:
        kept = [None if t is None else t._array for t in (running_mean, running_var)]
        if moves:
            kept = [None if v is None else v.copy() for v in kept]
            _update_running(a, running_mean, running_var, share, None, eps)
            moves = False
        with given(running_mean=kept[0], running_var=kept[1]):
            out = batch_norm_op.call(input, weight, bias, eps=float(eps))
    if moves:
        _update_running(a, running_mean, running_var, share, out, eps)
    return out


def check_mapped(input: Tensor, *running: Tensor | None) -> None:
    """Refuse samples of a `vmap` that would all move the same running statistics."""
    if type(input) not in FAST_TYPES:
        from ....core.transforms.batching import Batched

        if isinstance(input, Batched) and any(
            t is not None and not isinstance(t, Batched) for t in running
        ):
            raise OperationError(
                "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were "
                "not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If you "
                "are using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch "
                "your module to work with vmap"
            )


def nothing_normalised(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """What PyTorch makes of images without elements: it looks at the first weight alone, so that
    there need not be one for each channel.
    """
    out = input.clone()
    if weight is not None:
        out = out * weight.select(0, 0)
    return out if bias is None else out + bias.select(0, 0)


def _shaped(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    return t.detach().reshape(shape) if t.is_meta else wrap(t._array.reshape(shape))


def check_several_values(shape: tuple[int, ...]) -> None:
    """Training statistics need more than one value per channel."""
    if len(shape) >= 2 and math.prod(shape) // max(shape[1], 1) == 1:
        raise ArgumentValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(shape)})",
            op="batch_norm",
            hint="a batch of one row has no variance: use a larger batch, drop_last=True in the DataLoader, or eval() mode",
        )


def _update_running(
    a: np.ndarray,
    mean: Tensor | None,
    var: Tensor | None,
    momentum: float,
    out: Tensor | None,
    eps: float,
) -> None:
    """Update the running statistics with those of the batch, reusing the ones that the forward rule
    has saved.
    """
    node = None if out is None else out.grad_fn
    saved = None
    for v in () if node is None else node.saved or ():
        if type(v) is tuple and len(v) == 3 and type(v[0]) is str:
            saved = v
            break
    running = [None if t is None else t._array for t in (mean, var)]
    if saved is not None:
        tracing.effect(
            _move_by_saved,
            running,
            as_array(saved[1]),
            as_array(saved[2]),
            a.shape,
            momentum,
            eps,
            writes=(0,),
        )
    else:
        tracing.effect(_move_by_batch, running, a, momentum, eps, writes=(0,))
    for t in (mean, var):
        if t is not None:
            bump(t, "batch_norm")


def move_in_operations(input: Tensor, running: tuple[Any, ...], momentum: float) -> None:
    """Move running statistics towards the batch's, each sample of a `vmap` its own."""
    with no_grad():
        x, axes = input.detach(), (0, *range(2, input.ndim))
        for t, found in zip(running, (x.mean(axes), x.var(axes)), strict=True):
            t.copy_(t * (1 - momentum) + found * momentum)


def _reciprocal_deviation(variance: Tensor, eps: float, shape: tuple[int, ...], kind: Any) -> Any:
    """Return 1 / sqrt(variance + eps) as an array, computed in float64."""
    # use operations, which a traced program repeats and meta tensors support
    if tracing.tracer() or variance.is_meta:
        wide = F.cast(variance.detach(), dtype=np.dtype(np.float64))
        return F.reshape(
            F.cast(F.div(1.0, F.sqrt(F.add(wide, eps))), dtype=kind), shape=shape
        )._array
    made: np.ndarray = variance._array.astype(np.float64)
    made += eps
    np.sqrt(made, made)
    np.reciprocal(made, made)
    return made.astype(kind, copy=False).reshape(shape)


def _move_by_saved(
    running: list[Any], mean: Any, rstd: Any, shape: tuple[int, ...], momentum: float, eps: float
) -> None:
    """Update running statistics with the batch statistics that the forward rule saved."""
    count = math.prod(shape) // max(shape[1], 1)
    # Use native code for arrays of any size, as it is loaded: the forward rule has run.
    mean_of, var_of = running
    if mean_of is not None is not var_of and kernels.rows.running.moved(
        (*running, mean, rstd), momentum, eps, count / max(count - 1, 1)
    ):
        return
    _move(
        running,
        mean.reshape(-1),
        1 / np.square(rstd.astype(np.float64).reshape(-1)) - eps,
        shape,
        momentum,
    )


def _move_by_batch(running: list[Any], a: Any, momentum: float, eps: float) -> None:
    """Update running statistics with those of the batch `a`."""
    axes = (0, *range(2, a.ndim))
    wide = widen(a)
    if type(wide) is np.ndarray and wide.dtype in KERNELS and config.kernels:
        made = kernels.rows.channel_norm.batch_norm(wide, eps=eps)
        if made is not None:
            _move_by_saved(running, made[1], made[2], a.shape, momentum, eps)
            return
    _move(running, wide.mean(axis=axes), wide.var(axis=axes), a.shape, momentum)


def _move(running: list[Any], mean: Any, var: Any, shape: tuple[int, ...], momentum: float) -> None:
    count = math.prod(shape) // max(shape[1], 1)
    for r, value in zip(running, (mean, var * (count / max(count - 1, 1))), strict=True):
        if r is not None and (r := written(r, "batch_norm")) is not None:
            r *= r.dtype.type(1 - momentum)
            r += (momentum * value).astype(r.dtype, copy=False).reshape(r.shape)


def check_pair(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    if (running_mean is None) is not (running_var is None):
        raise ArgumentValueError(
            "running_mean and running_var must either both be None or neither be None"
        )
