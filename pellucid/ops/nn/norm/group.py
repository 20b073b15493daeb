"""Group norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import config
from ....arrays import numpy_cpu
from ....arrays.halves import HALVES, in_float32
from ....arrays.native import kernels
from ....core.display.packing import only_saves
from ....core.modes import state
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import FUNCTIONS, public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....core.transforms.linking import connected
from ....errors import ArgumentValueError, OperationError, ShapeError
from ..._format import in_format
from ..._rules import require_tensor
from ..._samples import Sample
from ._common import (
    F32,
    KERNELS,
    channel_shape,
    check_floating,
    input_grad,
    mixed_types,
    normalize_over,
    recompute,
    widen,
)
from .layer import layer_norm_op


def _group_norm(xp: Any, x: Any, weight: Any, bias: Any, *, groups: int, eps: float) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(_group_norm, xp, x, weight, bias, groups=groups, eps=eps)
    if xp is numpy_cpu and x.dtype in KERNELS and config.kernels:
        made = kernels.rows.channel_norm.group_norm(numpy_cpu.ordered(x), groups, weight, bias, eps)
        if made is not None:
            return made[0], ("kernel", made[1], made[2])
    rows = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    xhat, mean, rstd = normalize_over(xp, rows, (2,), eps, True)
    out, shape = xhat.reshape(x.shape), channel_shape(x.ndim)
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
            g, numpy_cpu.ordered(input), mean, rstd, groups, weight
        )
        if made is not None:
            return made[0], made[1] if needs[1] else None, made[2] if needs[2] else None
    whole, affine = tuple(input.shape), channel_shape(len(input.shape))
    count = math.prod(whole[1:]) // groups
    shape = (whole[0], groups, count)
    rows = F.reshape(input, shape=shape)
    if F.raw:
        rstd = rstd.reshape(shape[0], groups, 1)
        xhat = (widen(rows) - mean.reshape(rstd.shape)) * rstd
    else:
        xhat, rstd = recompute(F, rows, (2,), count, eps, True)
    axes = (0, *range(2, len(whole)))
    gw: Any = F.sum(g * F.reshape(xhat, shape=whole), dim=axes, keepdim=False) if needs[1] else None
    # PyTorch's gradient is computed from the statistics of the result, and so depends on the weight
    if needs[1] and not F.raw:
        gw = connected(gw, [(weight._node or weight, True)])
    gb = F.sum(g, dim=axes, keepdim=False) if needs[2] else None
    scaled = F.reshape(
        g * F.reshape(weight, shape=affine) if weight is not None else g, shape=shape
    )
    gx = (
        F.reshape(input_grad(F, scaled, xhat, rstd, (2,), count, True), shape=whole)
        if needs[0]
        else None
    )
    return gx, gw, gb


def _keeps(input: Any, weight: Any, aux: Any, groups: int) -> list[Any]:
    rows = (input.shape[0], groups)
    return [input, weight, aux[1].reshape(rows), aux[2].reshape(rows)]


def _again(kept: list[Any], aux: Any) -> dict[str, Any]:
    mean, rstd = (v.reshape(old.shape) for v, old in zip(kept[2:], aux[1:], strict=True))
    return {"input": kept[0], "weight": kept[1], "aux": (aux[0], mean, rstd)}


group_norm_op = defop(
    "group_norm",
    "input weight? bias?",
    forward=_group_norm,
    aux=True,
    aval=lambda x, w, b, **_: x,
    vjp=_group_norm_vjp,
    grad_name="NativeGroupNorm",
    packs=(_keeps, _again),
    traits="recentres",
    aten=lambda A, x, w, b, *, groups, eps: A.group_norm(x, groups, w, b, eps),
    samples=lambda rng: [
        Sample((rng.random((3, 4, 5)), rng.random(4), rng.random(4)), {"groups": 2, "eps": 1e-5}),
        Sample((rng.random((2, 6)), None, None), {"groups": 3, "eps": 1e-3}),
    ],
    shows={
        "group": "groups",
        "N": lambda input_shape: input_shape[0],
        "C": lambda input_shape: input_shape[1],
        "HxW": lambda input_shape: math.prod(input_shape[2:]),
    },
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

    >>> import pellucid as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    shape = require_tensor(input, "group_norm")._array.shape
    if len(shape) >= 2 and num_groups != 0:
        size = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
        if size[0] * math.prod(size[2:]) == 1:
            raise ArgumentValueError(
                f"Expected more than 1 value per channel when training, got input size {size}",
                op="group_norm",
            )
    return FUNCTIONS["torch"]["group_norm"](input, num_groups, weight, bias, eps)


@public()
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Zero mean and unit variance over each group of channels of each image, then `* weight + bias`
    per channel.

    Args:
        input: `(N, C, ...)`; `num_groups` divides C.
        num_groups: number of groups of neighboring channels.
        weight, bias: `(C,)` or None.
        eps: added to the variance. Default: 1e-5.
        cudnn_enabled: without effect on the CPU. Default: True.

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
            # PyTorch's message shows the shape of the weight for both
            shown = [0] if weight is None else list(weight._array.shape)
            raise ShapeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{shown} and input of shape {list(shape)}",
                op="group_norm",
            )
    if mixed_types("group_norm", input, weight, bias):
        return F.cast(
            group_norm(F.cast(input, dtype=F32), num_groups, weight, bias, eps),
            dtype=input._array.dtype,
        )
    x = input._array
    check_floating("GroupNormKernelImpl", input)
    if math.prod(shape) == 0:
        out = input.clone()
    elif (
        (not state.slow or only_saves())
        and type(x) is np.ndarray
        and (x.dtype.kind == "f" or x.dtype in HALVES)
    ):
        # no observer wants to see the single steps
        return in_format(
            group_norm_op.call(input, weight, bias, groups=num_groups, eps=float(eps)), input
        )
    else:
        inner = math.prod(shape[1:]) // num_groups
        rows = input.reshape(shape[0], num_groups, inner)
        out = layer_norm_op.call(
            rows, None, None, shape=(inner,), eps=float(eps), centered=True
        ).reshape(shape)
    affine = channel_shape(len(shape))
    if weight is not None:
        out = out * weight.reshape(affine)
    if bias is not None:
        out = out + bias.reshape(affine)
    return titled(in_format(out, input), "NativeGroupNorm", of=(input, weight, bias), eps=eps)
