"""Normalization layers. Ordinary backward uses fused rules on arrays; under `create_graph` the same
gradient is written in operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import config
from ...backends import numpy_cpu
from ...backends.halves import HALVES, in_float32, widened
from ...backends.native import fused, kernels
from ...backends.numpy_cpu import as_array
from ...core import tracing
from ...core.bind import wrap
from ...core.inplace import bump
from ...core.interpret import thread
from ...core.modes import state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import FAST_TYPES, Tensor
from ...errors import ArgumentValueError, DtypeError, OperationError, ShapeError, UnsupportedError
from ...ir.formula import FORMULAS, Formula
from .._format import in_format
from .._rules import constant as as_constant
from .._rules import require_tensor
from .._samples import Sample

_F32 = np.dtype(np.float32)
_KERNELS = (_F32, np.dtype(np.float64))  # the floats that native code of rows is for


def _wide(x: Any) -> Any:
    """Two-byte floats are normalized in float32."""
    return widened(x)


# Every norm here is (x - mean) * rstd over some axes, then an affine map: the rules below serve
# them all.
def _normalize(
    xp: Any, x: Any, axes: tuple[int, ...], eps: float, centered: bool
) -> tuple[Any, Any, Any]:
    x = _wide(x)
    if centered:
        mean = xp.mean(x, axis=axes, keepdims=True)
        d = x - mean
    else:
        mean, d = None, x
    var = xp.mean(d * d.conj() if d.dtype.kind == "c" else d * d, axis=axes, keepdims=True)
    rstd = 1 / xp.sqrt(var + eps)
    return d * rstd, mean, rstd


def _input_grad(
    F: Any, g: Any, xhat: Any, rstd: Any, axes: tuple[int, ...], count: int, centered: bool
) -> Any:
    """Gradient through (x - mean) * rstd."""
    inner = F.sum(g * xhat, dim=axes, keepdim=True) / count
    out = g - xhat * inner
    if centered:
        out = out - F.sum(g, dim=axes, keepdim=True) / count
    return out * rstd


def _recompute(
    F: Any, x: Any, axes: tuple[int, ...], count: int, eps: float, centered: bool
) -> tuple[Any, Any]:
    """xhat and rstd from operations, so that they can be differentiated again."""
    d = x - F.sum(x, dim=axes, keepdim=True) / count if centered else x
    rstd = (F.sum(d * d, dim=axes, keepdim=True) / count + eps) ** -0.5
    return d * rstd, rstd


# ---- layer and RMS norm ------------------------------------------------------------------------
def _layer_norm(
    xp: Any, x: Any, weight: Any, bias: Any, *, shape: tuple[int, ...], eps: float, centered: bool
) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_layer_norm, xp, x, weight, bias, shape=shape, eps=eps, centered=centered)
    if type(x) is np.ndarray:
        x = np.ascontiguousarray(x)  # the result is contiguous whatever the input is
    if xp is numpy_cpu and x.dtype in _KERNELS and config.kernels:
        if centered:
            made = kernels.rows.norm.layer_norm(x, shape, weight, bias, eps)
            if made is not None:
                return made[0], ("kernel", made[1], made[2])
        else:
            made = kernels.rows.norm.rms_norm(x, shape, weight, eps)
            if made is not None:
                return made[0], ("kernel", None, made[1])
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    xhat, mean, rstd = _normalize(xp, x, axes, eps, centered)
    out = xhat
    if weight is not None:
        out = out * weight
    if bias is not None:
        out = out + bias
    return out.astype(x.dtype, copy=False), ("plain", mean, rstd)


def _layer_norm_vjp(
    F: Any,
    g: Any,
    input: Any,
    weight: Any,
    bias_shape: Any,
    aux: Any,
    needs: Any,
    shape: Any,
    eps: float,
    centered: bool,
) -> tuple[Any, ...]:
    kind, mean, rstd = aux
    if F.raw and kind == "kernel":
        if centered:
            made = kernels.rows.norm.layer_norm_backward(g, input, mean, rstd, weight)
        else:
            made = kernels.rows.norm.rms_norm_backward(g, input, rstd, weight)
        if made is not None:
            gw = made[1].reshape(shape) if needs[1] else None
            return made[0], gw, made[2].reshape(shape) if needs[2] else None
    ndim = len(input.shape)
    axes = tuple(range(ndim - len(shape), ndim))
    lead = tuple(range(ndim - len(shape)))
    count = math.prod(shape)
    if F.raw:
        x = _wide(input)
        rows = input.shape[: ndim - len(shape)] + (1,) * len(shape)
        rstd = rstd.reshape(rows)
        xhat = (x - mean.reshape(rows)) * rstd if centered else x * rstd
    else:
        xhat, rstd = _recompute(F, input, axes, count, eps, centered)
    gw = F.sum(g * xhat, dim=lead, keepdim=False) if needs[1] else None
    gb = F.sum(g, dim=lead, keepdim=False) if needs[2] else None
    gx = None
    if needs[0]:
        gx = _input_grad(
            F, g * weight if weight is not None else g, xhat, rstd, axes, count, centered
        )
    return gx, gw, gb


def _onnx_layer_norm(c: Any) -> Any:
    shape = c.fixed(c.p["shape"])
    axes = list(range(-len(shape), 0))
    if c.p["centered"] and c.graph.opset >= 17:
        scale = c[1] or c.const(np.ones(shape, c.dtype))
        names = [c[0], scale, c[2]] if c.has(2) else [c[0], scale]
        return c.emit("LayerNormalization", *names, axis=-len(shape), epsilon=float(c.p["eps"]))
    x = c.emit("Sub", c[0], c.reduce("ReduceMean", c[0], axes, True)) if c.p["centered"] else c[0]
    mean = c.reduce("ReduceMean", c.emit("Mul", x, x), axes, True)
    out = c.emit("Div", x, c.emit("Sqrt", c.emit("Add", mean, c.number(c.p["eps"]))))
    out = c.emit("Mul", out, c[1]) if c.has(1) else out
    return c.emit("Add", out, c[2]) if c.has(2) else out


layer_norm_op = defop(
    "layer_norm",
    "input weight? bias?",
    forward=_layer_norm,
    aux=True,
    aval=lambda x, w, b, **_: x,
    vjp=_layer_norm_vjp,
    linked="input? weight?",
    grad_name="NativeLayerNorm",
    batch=lambda b: b.call(*b.values) if b.first_only else None,
    traits="recentres",
    onnx=_onnx_layer_norm,
    samples=lambda rng: [
        Sample(
            (
                rng.random((2, 3, 4)),
                rng.random(shape) if affine else None,
                rng.random(shape) if affine and centered else None,
            ),
            how,
        )
        for shape in ((4,), (3, 4))
        for affine in (True, False)
        for centered in (True, False)
        for how in [{"shape": shape, "eps": 1e-5, "centered": centered}]
    ],
)


def _mixed(name: str, input: Tensor, *parameters: Tensor | None) -> bool:
    """Whether half-precision numbers meet parameters of float32.

    Raises:
        RuntimeError: the types are mixed in any other way.
    """
    kind = input._array.dtype
    given = [p for p in parameters if p is not None and p._array.dtype != kind]
    if not given:
        return False
    first = next(p for p in parameters if p is not None)
    if first._array.dtype == kind:
        found, wanted = given[0].dtype.scalar_type_name, input.dtype.scalar_type_name
        raise DtypeError(f"expected scalar type {wanted} but found {found}", op=name)
    single = all(p is None or p._array.dtype == _F32 for p in parameters)
    if single and kind.itemsize == 2:
        return True
    wrong = (
        "all inputs must share same datatype."
        if single
        else "expect parameter to have scalar type of Float"
    )
    raise DtypeError(
        f"mixed dtype (CPU): {wrong}",
        op=name,
        hint=f"a parameter is {given[0].dtype}, the input {input.dtype}",
    )


_INTEGERS = {int}


def _check_normalized(
    name: str, x: Tensor, shape: Any, weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    require_tensor(x, name)
    for position, (what, t) in enumerate((("weight", weight), ("bias", bias)), start=3):
        if t is not None:
            require_tensor(t, name, what, position)
    if type(shape) is not tuple or {*map(type, shape)} != _INTEGERS:
        shape = tuple(int(s) for s in shape) if not isinstance(shape, int) else (shape,)
    if not shape:
        raise OperationError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for what, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != shape:
            raise ShapeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(t._array.shape)} and "
                f"normalized_shape = {list(shape)}",
                op=name,
            )
    if x._array.shape[-len(shape) :] != shape:
        inner = ", ".join(str(s) for s in shape)
        raise ShapeError(
            f"Given normalized_shape=[{inner}], expected input with shape [*{'' if name == 'rms_norm' else ', '}{inner}], but got input of size"
            f"{list(x._array.shape)}",
            op=name,
        )
    return shape


@public(namespace="nn.functional torch")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over the last dimensions, then `* weight + bias`.

    `(input - mean) / sqrt(var + eps)`, with the variance divided by the count.

    Args:
        input: `(*, *normalized_shape)`.
        normalized_shape: sizes of the last dimensions, a sequence.
        weight, bias: of shape `normalized_shape`, or None.
        eps: added to the variance. Default: 1e-5.

    Raises:
        RuntimeError: the input does not end with `normalized_shape`.

    Source: Ba, Kiros, Hinton, "Layer Normalization", 2016.

    >>> import pellucid as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    shape = _check_normalized("layer_norm", input, normalized_shape, weight, bias)
    _mixed("layer_norm", input, weight, bias)
    return layer_norm_op.call(input, weight, bias, shape=shape, eps=float(eps), centered=True)


@public(namespace="nn.functional torch")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """RMS normalization: divide by the root mean square over the last dimensions.

    Args:
        input: any shape, a floating-point dtype.
        normalized_shape: the sizes of the last dimensions.
        weight: a factor of that shape. Default: None.
        eps: added to the mean square. Default: the machine epsilon of the dtype.

    Source: Zhang, Sennrich, "Root Mean Square Layer Normalization", 2019.

    >>> import pellucid as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 4.0]]), (2,))
    tensor([[0.8485, 1.1314]])
    """
    shape = _check_normalized("rms_norm", input, normalized_shape, weight, None)
    if eps is None:
        kind = input._array.dtype
        eps = (
            float(np.finfo(kind).eps)
            if kind.kind == "f" and kind.itemsize > 2
            else float(np.finfo(np.float32).eps)
        )
    if input._array.dtype.kind == "c":
        scale = (
            F.mean(input * input, dim=tuple(range(-len(shape), 0)), keepdim=True) + eps
        ) ** -0.5
        out = input * scale
        return out if weight is None else out * weight
    return layer_norm_op.call(input, weight, None, shape=shape, eps=float(eps), centered=False)


# ---- batch norm --------------------------------------------------------------------------------
def _all_tensors(name: str, *parameters: Any) -> None:
    for position, (what, t) in enumerate(
        zip(("weight", "bias", "running_mean", "running_var"), parameters, strict=True), start=2
    ):
        if t is not None:
            require_tensor(t, name, what, position)


def _channel_shape(ndim: int) -> tuple[int, ...]:
    return (1, -1) + (1,) * (ndim - 2)


def _batch_norm(xp: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_batch_norm, xp, x, weight, bias, eps=eps)
    if xp is numpy_cpu and x.dtype in _KERNELS and x.size and config.kernels:
        made = kernels.rows.channel_norm.batch_norm(x, weight, bias, None, None, 0.0, eps)
        if made is not None:
            return made[0], ("kernel", made[1], made[2])
    axes = (0, *range(2, x.ndim))
    xhat, mean, rstd = _normalize(xp, x, axes, eps, True)
    out = xhat
    shape = _channel_shape(x.ndim)
    if weight is not None:
        out = out * weight.reshape(shape)
    if bias is not None:
        out = out + bias.reshape(shape)
    return out.astype(x.dtype, copy=False), ("plain", mean.reshape(-1), rstd.reshape(-1))


def _batch_norm_vjp(
    F: Any, g: Any, input: Any, weight: Any, bias_shape: Any, aux: Any, needs: Any, eps: float
) -> tuple[Any, ...]:
    kind, mean, rstd = aux
    if F.raw and kind == "kernel":
        made = kernels.rows.channel_norm.batch_norm_backward(g, input, mean, rstd, weight)
        if made is not None:
            return made[0], made[1] if needs[1] else None, made[2] if needs[2] else None
    ndim = len(input.shape)
    axes = (0, *range(2, ndim))
    count = math.prod(input.shape) // max(input.shape[1], 1)
    shape = _channel_shape(ndim)
    if F.raw:
        rstd = rstd.reshape(shape)
        xhat = (_wide(input) - mean.reshape(shape)) * rstd
    else:
        xhat, rstd = _recompute(F, input, axes, count, eps, True)
    gw = F.sum(g * xhat, dim=axes, keepdim=False) if needs[1] else None
    gb = F.sum(g, dim=axes, keepdim=False) if needs[2] else None
    scaled = g * F.reshape(weight, shape=shape) if weight is not None else g
    gx = _input_grad(F, scaled, xhat, rstd, axes, count, True) if needs[0] else None
    return gx, gw, gb


def _onnx_batch_norm(c: Any) -> Any:
    """With the batch's own statistics (training, or instance norm as a batch of one)."""
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
    linked="input? weight?",
    traits="recentres",
    onnx=_onnx_batch_norm,
    samples=lambda rng: [
        Sample((rng.random((3, 2, 4)), rng.random(2), rng.random(2)), {"eps": 1e-5}),
        Sample((rng.random((5, 3)), None, None), {"eps": 1e-3}),
    ],
)


FORMULAS["normalized"] = Formula(lambda m, x, mean, rstd: (x - mean) * rstd)
FORMULAS["normalized_affine"] = Formula(
    lambda m, x, mean, rstd, weight, bias: (x - mean) * rstd * weight + bias
)


def _by_statistics(xp: Any, x: Any, weight: Any, bias: Any, *, mean: Any, rstd: Any) -> Any:
    mean, rstd = xp.from_host((mean, rstd))
    shape = _channel_shape(x.ndim)
    if xp is numpy_cpu and x.dtype in _KERNELS and (weight is None) == (bias is None):
        run = fused("normalized" if weight is None else "normalized_affine", x)
        if run is not None:
            given = () if weight is None else (weight.reshape(shape), bias.reshape(shape))
            return run(x, mean, rstd, *given)
    out = (x - mean) * rstd
    if weight is not None:
        out = out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


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
        scale = F.reshape(weight, shape=_channel_shape(len(input.shape))) * rstd
    return g * scale, gw, gb


batch_norm_by_statistics = defop(
    "batch_norm_by_statistics",
    "input weight? bias?",
    forward=_by_statistics,
    aval=lambda x, w, b, **_: x,
    vjp=_by_statistics_vjp,
    grad_name="NativeBatchNorm",
    linked="input? weight?",
    samples=lambda rng: [
        Sample(
            (rng.random((3, 2, 4)), *(rng.random(2) if here else None for here in affine)),
            {"mean": rng.random((1, 2, 1)), "rstd": rng.random((1, 2, 1))},
        )
        for affine in ((True, True), (False, False), (True, False))
    ],
)


def _at_once(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Tensor | None:
    """Batch norm by given statistics as one operation, for plain tensors of one dtype; None
    elsewhere. The bits are those of the operations.
    """
    given = [t for t in (mean, variance, weight, bias) if t is not None]
    kind = x._array.dtype
    if state.slow or mean._rg or variance._rg or kind.char not in "fd":
        return None
    for t in (x, *given):
        if type(t) not in FAST_TYPES or type(t._array) is not np.ndarray:
            return None
        if t._array.dtype is not kind:
            return None
    shape = _channel_shape(x._array.ndim)
    rstd = _reciprocal_deviation(variance, eps, shape, kind)
    return batch_norm_by_statistics.call(
        x, weight, bias, mean=mean._array.reshape(shape).copy(), rstd=rstd
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
    a = require_tensor(input, "batch_norm")._array
    _all_tensors("batch_norm", weight, bias, running_mean, running_var)
    if a.ndim == 1 and a.size == 0:
        return input.clone()
    if training:
        if eps <= 0.0:
            raise ArgumentValueError(
                f"batch_norm eps must be positive during training, but got {eps}"
            )
        check_several_values(a.shape)
    if a.ndim < 2:
        raise ShapeError(
            f"Expected at least 2 dimensions, but got {a.ndim}-dimensional tensor", op="batch_norm"
        )
    if not a.size:
        return _nothing_normalised(input, weight, bias)
    if not input.dtype.is_floating_point:
        raise UnsupportedError(
            f"\"batch_norm\" not implemented for '{input.dtype.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    if training:
        _check_pair(running_mean, running_var)
    _mixed("batch_norm", input, weight, bias, running_mean, running_var)
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
        shape = _channel_shape(a.ndim)
        rstd = _reciprocal_deviation(running_var, eps, shape, a.dtype)
        out = (input - F.cast(_shaped(running_mean, shape), dtype=a.dtype)) * wrap(rstd)
        if running_var._rg or running_mean._rg:
            out = (input - running_mean.reshape(shape)) / (running_var.reshape(shape) + eps).sqrt()
        if weight is not None:
            out = out * weight.reshape(shape)
        if bias is not None:
            out = out + bias.reshape(shape)
        return titled(
            out if out._array.dtype == a.dtype else F.cast(out, dtype=a.dtype), "NativeBatchNorm"
        )
    if input._array.size:
        _check_mapped(input, running_mean, running_var)
    moves = (running_mean is not None or running_var is not None) and not input.is_meta and a.size
    share = 0.0 if momentum is None else momentum
    # which may end the call when it saves (a checkpoint's): PyTorch has moved them by then
    if moves and thread.stack.save:
        _update_running(a, running_mean, running_var, share, None, eps)
        moves = False
    out = batch_norm_op.call(input, weight, bias, eps=float(eps))
    if moves:
        _update_running(a, running_mean, running_var, share, out, eps)
    return out


def _check_mapped(input: Tensor, *running: Tensor | None) -> None:
    """Refuse samples of a `vmap` that would all move the same running statistics."""
    if type(input) not in FAST_TYPES:
        from ...core.transforms.batching import Batched

        if isinstance(input, Batched) and any(
            t is not None and not isinstance(t, Batched) for t in running
        ):
            raise OperationError(
                "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were "
                "not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If you "
                "are using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to patch "
                "your module to work with vmap"
            )


def _nothing_normalised(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """What PyTorch makes of images without elements: it looks at the first weight alone, so that
    there need not be one for each channel.
    """
    out = input.clone()
    if weight is not None:
        out = out * weight.select(0, 0)
    return out if bias is None else out + bias.select(0, 0)


def _shaped(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    return wrap(t._array.reshape(shape))


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
    """Move the running statistics towards the batch's; statistics already computed by the forward
    rule are reused.
    """
    node = None if out is None else out.grad_fn
    saved = None
    if node is not None and node.saved:
        saved = next(
            (
                v
                for v in node.saved
                if isinstance(v, tuple) and len(v) == 3 and isinstance(v[0], str)
            ),
            None,
        )
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
        tracing.effect(_move_by_batch, running, a, momentum, writes=(0,))
    for t in (mean, var):
        if t is not None:
            bump(t, "batch_norm")


def _reciprocal_deviation(variance: Tensor, eps: float, shape: tuple[int, ...], kind: Any) -> Any:
    """1 / sqrt(variance + eps), in double, as an array."""
    if tracing.tracer():  # in operations, which a program repeats
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
    """Move running statistics towards the batch's, which the forward rule knows."""
    _move(
        running,
        mean.reshape(-1),
        1 / np.square(rstd.astype(np.float64).reshape(-1)) - eps,
        shape,
        momentum,
    )


def _move_by_batch(running: list[Any], a: Any, momentum: float) -> None:
    """Move running statistics towards those of the batch `a`."""
    axes = (0, *range(2, a.ndim))
    wide = _wide(a)
    _move(running, wide.mean(axis=axes), wide.var(axis=axes), a.shape, momentum)


def _move(running: list[Any], mean: Any, var: Any, shape: tuple[int, ...], momentum: float) -> None:
    count = math.prod(shape) // max(shape[1], 1)
    for r, value in zip(running, (mean, var * (count / max(count - 1, 1))), strict=True):
        if r is not None:
            r *= r.dtype.type(1 - momentum)
            r += (momentum * value).astype(r.dtype).reshape(r.shape)


def _move_by_instances(running: list[Any], a: Any, momentum: float) -> None:
    """Move running statistics towards the mean over the batch of each instance's."""
    wide = _wide(a)
    axes = tuple(range(2, a.ndim))
    count = math.prod(a.shape[2:])
    for r, value in zip(
        running,
        (wide.mean(axis=axes), wide.var(axis=axes) * count / max(count - 1, 1)),
        strict=True,
    ):
        r *= r.dtype.type(1 - momentum)
        r += (momentum * value.mean(axis=0)).astype(r.dtype)


# ---- group, instance, local response -----------------------------------------------------------
# ---- group norm --------------------------------------------------------------------------------
def _group_norm(xp: Any, x: Any, weight: Any, bias: Any, *, groups: int, eps: float) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_group_norm, xp, x, weight, bias, groups=groups, eps=eps)
    if xp is numpy_cpu and x.dtype in _KERNELS and config.kernels:
        made = kernels.rows.channel_norm.group_norm(
            np.ascontiguousarray(x), groups, weight, bias, eps
        )
        if made is not None:
            return made[0], ("kernel", made[1], made[2])
    rows = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    xhat, mean, rstd = _normalize(xp, rows, (2,), eps, True)
    out, shape = xhat.reshape(x.shape), _channel_shape(x.ndim)
    if weight is not None:
        out = out * weight.reshape(shape)
    if bias is not None:
        out = out + bias.reshape(shape)
    return out.astype(x.dtype, copy=False), ("plain", mean.reshape(-1), rstd.reshape(-1))


def _group_norm_vjp(
    F: Any,
    g: Any,
    input: Any,
    weight: Any,
    bias_shape: Any,
    aux: Any,
    needs: Any,
    groups: int,
    eps: float,
) -> tuple[Any, ...]:
    kind, mean, rstd = aux
    if F.raw and kind == "kernel":
        made = kernels.rows.channel_norm.group_norm_backward(
            g, np.ascontiguousarray(input), mean, rstd, groups, weight
        )
        if made is not None:
            return made[0], made[1] if needs[1] else None, made[2] if needs[2] else None
    whole, affine = tuple(input.shape), _channel_shape(len(input.shape))
    count = math.prod(whole[1:]) // groups
    shape = (whole[0], groups, count)
    rows = F.reshape(input, shape=shape)
    if F.raw:
        rstd = rstd.reshape(shape[0], groups, 1)
        xhat = (_wide(rows) - mean.reshape(rstd.shape)) * rstd
    else:
        xhat, rstd = _recompute(F, rows, (2,), count, eps, True)
    axes = (0, *range(2, len(whole)))
    gw = F.sum(g * F.reshape(xhat, shape=whole), dim=axes, keepdim=False) if needs[1] else None
    gb = F.sum(g, dim=axes, keepdim=False) if needs[2] else None
    scaled = F.reshape(
        g * F.reshape(weight, shape=affine) if weight is not None else g, shape=shape
    )
    gx = (
        F.reshape(_input_grad(F, scaled, xhat, rstd, (2,), count, True), shape=whole)
        if needs[0]
        else None
    )
    return gx, gw, gb


group_norm_op = defop(
    "group_norm",
    "input weight? bias?",
    forward=_group_norm,
    aux=True,
    aval=lambda x, w, b, **_: x,
    vjp=_group_norm_vjp,
    grad_name="NativeGroupNorm",
    traits="recentres",
    aten=lambda A, x, w, b, *, groups, eps: A.group_norm(x, groups, w, b, eps),
    samples=lambda rng: [
        Sample((rng.random((3, 4, 5)), rng.random(4), rng.random(4)), {"groups": 2, "eps": 1e-5}),
        Sample((rng.random((2, 6)), None, None), {"groups": 3, "eps": 1e-3}),
    ],
)


@public(namespace="nn.functional", names="group_norm")
def group_norm_functional(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """`torch.group_norm`, refused where every group has a single value.

    Raises:
        ValueError: there is one image, and one value in each of its groups.
    """
    shape = require_tensor(input, "group_norm")._array.shape
    if (
        len(shape) >= 2
        and num_groups > 0
        and shape[0] * shape[1] // num_groups * math.prod(shape[2:]) == 1
    ):
        raise ArgumentValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}",
            op="group_norm",
        )
    return group_norm(input, num_groups, weight, bias, eps)


@public()
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Zero mean and unit variance over each group of channels of each image, then `* weight + bias`
    per channel.

    Args:
        input: `(N, C, ...)`; `num_groups` divides C.
        num_groups: number of groups of neighboring channels.
        weight, bias: `(C,)` or None.
        eps: added to the variance. Default: 1e-5.

    Source: Wu, He, "Group Normalization", 2018.

    >>> import pellucid as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    shape = require_tensor(input, "group_norm")._array.shape
    if len(shape) < 2:
        raise ShapeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    if num_groups == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    if num_groups < 0:
        raise OperationError("Expected num groups to be greater than 0, got " + str(num_groups))
    if shape[1] % num_groups:
        raise OperationError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(shape)} and "
            f"num_groups={num_groups}",
            op="group_norm",
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(
            require_tensor(t, "group_norm", name, 3 + (name == "bias"))._array.shape
        ) != (shape[1],):
            raise ShapeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(t._array.shape)} and input of shape {list(shape)}",
                op="group_norm",
            )
    if _mixed("group_norm", input, weight, bias):
        return F.cast(
            group_norm(F.cast(input, dtype=_F32), num_groups, weight, bias, eps),
            dtype=input._array.dtype,
        )
    x = input._array
    if math.prod(shape) == 0:
        out = input.clone()
    elif not state.slow and type(x) is np.ndarray and (x.dtype.kind == "f" or x.dtype in HALVES):
        # nobody watches the steps
        return in_format(
            group_norm_op.call(input, weight, bias, groups=num_groups, eps=float(eps)), input
        )
    else:
        inner = math.prod(shape[1:]) // num_groups
        rows = input.reshape(shape[0], num_groups, inner)
        out = layer_norm_op.call(
            rows, None, None, shape=(inner,), eps=float(eps), centered=True
        ).reshape(shape)
    affine = _channel_shape(len(shape))
    if weight is not None:
        out = out * weight.reshape(affine)
    if bias is not None:
        out = out + bias.reshape(affine)
    return in_format(out, input)


def _check_pair(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    if (running_mean is None) is not (running_var is None):
        raise ArgumentValueError(
            "running_mean and running_var must either both be None or neither be None"
        )


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
    shape = require_tensor(input, "instance_norm")._array.shape
    _all_tensors("instance_norm", weight, bias, running_mean, running_var)
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
    _check_pair(running_mean, running_var)
    if not math.prod(shape) and len(shape) > 1:
        return _nothing_normalised(
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
    if not input.dtype.is_floating_point:
        raise UnsupportedError(
            f"\"batch_norm\" not implemented for '{input.dtype.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    _mixed("instance_norm", input, weight, bias, running_mean, running_var)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if len(shape) < 3:
        raise ShapeError(
            f"Expected at least 3 dimensions, but got {len(shape)}-dimensional tensor",
            op="instance_norm",
        )
    n, c = shape[0], shape[1]
    if input._array.size:
        _check_mapped(input, running_mean, running_var)
    if running_mean is not None and running_var is not None:
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
    out = batch_norm_op.call(rows, None, None, eps=float(eps)).reshape(shape)
    affine = _channel_shape(len(shape))
    if weight is not None:
        out = out * weight.reshape(affine)
    if bias is not None:
        out = out + bias.reshape(affine)
    if out.dtype is not input.dtype:  # two-byte images with parameters in float32
        out = F.cast(out, dtype=input._array.dtype)
    return out


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
    squares = (input * input).reshape(shape[0], 1, shape[1], -1)
    before, after = size // 2, (size - 1) // 2
    padded = F.constant_pad_nd(squares, pad=(0, 0, before, after), value=0.0)
    mean = F.avg_pool(
        padded,
        kernel=(size, 1),
        stride=(1, 1),
        padding=(0, 0),
        ceil_mode=False,
        include_pad=True,
        divisor=None,
    ).reshape(shape)
    return input / (mean * alpha + k) ** beta
