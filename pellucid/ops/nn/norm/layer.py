"""Layer norm and RMS norm. Ordinary backward uses fused rules on arrays; with `create_graph` the
same gradient is composed of operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import config
from ....arrays import numpy_cpu
from ....arrays.halves import HALVES, in_float32
from ....arrays.native import kernels
from ....core.display.packing import hooked
from ....core.modes import local
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import FAST_TYPES, Tensor
from ....core.transforms.unfolding import Unfolding
from ....errors import ArgumentValueError, OperationError, ShapeError
from ..._rules import require_tensor
from ..._samples import Sample
from ._common import (
    KERNELS,
    check_floating,
    input_grad,
    mixed_types,
    normalize_over,
    recompute,
    widen,
)


def _layer_norm(
    xp: Any, x: Any, weight: Any, bias: Any, *, shape: tuple[int, ...], eps: float, centered: bool
) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_layer_norm, xp, x, weight, bias, shape=shape, eps=eps, centered=centered)
    if type(x) is np.ndarray:
        x = np.ascontiguousarray(x)  # the result is always contiguous
    if xp is numpy_cpu and x.dtype in KERNELS and config.kernels:
        if centered:
            made = kernels.rows.norm.layer_norm(x, shape, weight, bias, eps)
            if made is not None:
                return made[0], ("kernel", made[1], made[2])
        else:
            made = kernels.rows.norm.rms_norm(x, shape, weight, eps)
            if made is not None:
                return made[0], ("kernel", None, made[1])
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    xhat, mean, rstd = normalize_over(xp, x, axes, eps, centered)
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
        x = widen(input)
        rows = input.shape[: ndim - len(shape)] + (1,) * len(shape)
        rstd = rstd.reshape(rows)
        xhat = (x - mean.reshape(rows)) * rstd if centered else x * rstd
    else:
        xhat, rstd = recompute(F, input, axes, count, eps, centered)
    gw = F.sum(g * xhat, dim=lead, keepdim=False) if needs[1] else None
    gb = F.sum(g, dim=lead, keepdim=False) if needs[2] else None
    gx = None
    if needs[0]:
        gx = input_grad(
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


def _keeps(input: Any, weight: Any, bias: Any, aux: Any, shape: Any, centered: bool) -> list[Any]:
    rows = input.shape[: input.ndim - len(shape)] + (1,) * len(shape)
    if not centered:
        return [input, weight, aux[2].reshape(rows)]
    return [bias, input, weight, aux[1].reshape(rows), aux[2].reshape(rows)]


def _again(kept: list[Any], aux: Any, centered: bool) -> dict[str, Any]:
    input, weight, *found = kept[1:] if centered else kept
    kind, *old = aux if centered else (aux[0], aux[2])
    found = [v.reshape(a.shape) for v, a in zip(found, old, strict=True)]
    statistics = found if centered else [None, *found]
    return {"input": input, "weight": weight, "aux": (kind, *statistics)}


def _by_squares(
    input: Any, weight: Any, bias: Any, *, shape: tuple[int, ...], eps: float, centered: bool
) -> Any:
    """Compute a norm that is not centered by PyTorch's operations. None for centered ones and other
    dtypes.
    """
    if centered or input._array.dtype.char not in "fd":
        return None
    square: Any = F.mean(F.pow(input, 2.0), dim=tuple(range(-len(shape), 0)), keepdim=True)
    moved = titled(square + eps, "AddBackward1", of=(square,))
    out = input * F.rsqrt(moved)
    return out if weight is None else out * weight


def _shown(node: Any) -> str:
    by_squares = not node.params["centered"] and node.dtype.char in "fd"
    return "MulBackward0" if by_squares else "NativeLayerNormBackward0"


layer_norm_op = defop(
    "layer_norm",
    "input weight? bias?",
    forward=_layer_norm,
    aux=True,
    aval=lambda x, w, b, **_: x,
    vjp=_layer_norm_vjp,
    linked="input? weight?",
    grad_name="NativeLayerNorm",
    variant=_shown,
    nodes=Unfolding(_by_squares),
    packs=(_keeps, _again),
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
    shows={"normalized_shape": "shape"},
)


_INTEGERS = {int}


def _check_normalized(
    name: str, x: Tensor, shape: Any, weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    if (
        type(shape) is tuple
        and shape
        and type(x) in FAST_TYPES
        and x._array.shape[-len(shape) :] == shape
        and (weight is None or type(weight) in FAST_TYPES and weight._array.shape == shape)
        and (bias is None or type(bias) in FAST_TYPES and bias._array.shape == shape)
        and {*map(type, shape)} == _INTEGERS
    ):
        return shape
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
    if name == "rms_norm" and x._array.ndim < len(shape):
        raise ArgumentValueError(
            f"Input tensor must have at least {len(shape)} dimensions, but got {x._array.ndim}"
        )
    if x._array.shape[-len(shape) :] != shape:
        inner = ", ".join(str(s) for s in shape)
        raise ShapeError(
            f"Given normalized_shape=[{inner}], expected input with shape [*{'' if name == 'rms_norm' else ', '}{inner}], but got input of size"
            f"{list(x._array.shape)}",
            op=name,
        )
    return shape


@public(namespace="nn.functional")
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
    mixed_types("layer_norm", input, weight, bias)
    check_floating("LayerNormKernelImpl", input)
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
    check_floating("rms_norm", input, complex=True)
    if eps is None:
        kind = input._array.dtype
        eps = (
            float(np.finfo(kind).eps)
            if kind.kind == "f" and kind.itemsize > 2
            else float(np.finfo(np.float32).eps)
        )
    if input._array.dtype.kind in "cW":
        scale = (
            F.mean(input * input, dim=tuple(range(-len(shape), 0)), keepdim=True) + eps
        ) ** -0.5
        out = input * scale
        return out if weight is None else out * weight
    if hooked() and input._array.dtype.char in "fd":  # hooks see PyTorch's operations
        return _by_squares(input, weight, None, shape=shape, eps=float(eps), centered=False)
    if (
        weight is not None
        and local.grad
        and weight._rg
        and not input._rg
        and input._array.dtype == weight._array.dtype
        and input._array.dtype.char in "fd"
    ):  # The gradient needs only the normalized values, which nobody can modify.
        alone = layer_norm_op.call(input, None, None, shape=shape, eps=float(eps), centered=False)
        return F.mul(alone, weight)
    return layer_norm_op.call(input, weight, None, shape=shape, eps=float(eps), centered=False)
