"""Convolutions: one operation and its two gradients, each differentiable through the other two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from ... import dtypes, shapes
from ...core.explain import located, operand
from ...core.primitive import RAW, defop
from ...core.primitive import TENSORS as F
from ...core.public import public
from ...core.tape import titled, value_at
from ...core.tensor import Tensor
from ...core.transforms.arranging import node_before
from ...errors import DtypeError, UnsupportedError, facts_of
from .._format import in_format
from .._rules import low_precision_alone, per_dimension, require_tensor
from .._samples import Sample

Sizes = int | Sequence[int]


def _bias_grad(F: Any, g: Any) -> Any:
    return F.sum(g, dim=(0, *range(2, g.ndim)), keepdim=False)


def _conv_aval(
    x: Any, w: Any, bias: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    out = tuple(
        (n + a + b - d * (k - 1) - 1) // s + 1
        for n, k, s, (a, b), d in zip(x[0][2:], w[0][2:], stride, padding, dilation, strict=True)
    )
    return (x[0][0], w[0][0], *out), x[1]


def _batch_conv(b: Any) -> Any:
    x, w, bias = b.values
    if b.first_only:
        return b.unfold(b.call(b.fold(x), w, bias))
    # Each sample has its own weight: turn samples into groups of channels.
    x, w, bias = b.whole()
    images, channels = x._array.shape[1:3]
    joined = F.reshape(
        F.transpose(x, dim0=0, dim1=1), shape=(images, b.size * channels, *x._array.shape[3:])
    )
    r = b.call(joined, b.fold(w), None, groups=b.p["groups"] * b.size)
    shape = r._array.shape
    r = F.transpose(
        F.reshape(r, shape=(images, b.size, shape[1] // b.size, *shape[2:])), dim0=0, dim1=1
    )
    return (
        r
        if bias is None
        else r + F.reshape(bias, shape=(b.size, 1, bias._array.shape[1], *(1,) * (len(shape) - 2)))
    )


def _batch_input_grad(b: Any) -> Any:
    if not b.first_only:
        return None
    count, *rest = b.p["x_shape"]
    return b.unfold(b.call(b.fold(b[0]), b[1], x_shape=(b.size * count, *rest)))


def _onnx_conv(c: Any) -> Any:
    low, high = c.pads
    return c.emit(
        "Conv",
        *[name for name in c.names if name],
        kernel_shape=list(c.fixed(c.shape(1))[2:]),
        strides=list(c.p["stride"]),
        pads=low + high,
        dilations=list(c.p["dilation"]),
        group=int(c.p["groups"]),
    )


# image, window, stride, padding, dilation, groups
_SAMPLES: list[Any] = [
    ((7,), (3,), (2,), ((1, 1),), (1,), 1),
    ((5, 6), (3, 2), (1, 2), ((1, 0), (2, 1)), (1, 2), 2),
    ((3, 4, 3), (2, 2, 1), (1, 1, 2), ((0, 0), (0, 1), (0, 0)), (1, 1, 1), 1),
]


def _low_padding(padding: Any) -> tuple[int, ...]:
    return tuple([low for low, _ in padding])


def _nodes(node: Any) -> Any:
    """Return PyTorch's nodes: with unequal padding of both sides (`same`), PyTorch pads first."""
    pads, (x, *rest) = node.params["padding"], node.inputs
    kept = dict(zip(node.plan.entries, node.saved, strict=True))
    even = tuple([(min(pair),) * 2 for pair in pads])
    values = kept.get(("in", 0))
    if pads == even or x is None or values is not None and type(values) is not ndarray:
        return (node,)
    more = [(a - n, b - n) for (a, b), (n, _) in zip(pads, even, strict=True)]
    shape, _ = value_at(x)
    sides = [(0, 0), (0, 0), *more]
    shape = tuple([n + a + b for n, (a, b) in zip(shape, sides, strict=True)])
    pad = tuple([n for pair in reversed(more) for n in pair])
    padded = node_before(node, "constant_pad_nd", x, shape, 0.25, pad=pad, value=0.0)
    node.inputs, node.params = (padded, *rest), node.params | {"padding": even}
    if values is not None:
        kept["in", 0] = RAW.constant_pad_nd(values, pad=pad, value=0.0)
    if ("shape", 0) in kept:
        kept["shape", 0] = shape
    node.saved = tuple(kept.values())
    return (node,)


conv_op = defop(
    "conv",
    "input weight bias?",
    forward=lambda xp, x, w, bias, *, stride, padding, dilation, groups: xp.conv(
        x, w, bias, stride, padding, dilation, groups
    ),
    aval=_conv_aval,
    work=lambda size, x, w, bias: size * math.prod(w[1:]),
    vjp={
        "input": lambda F, g, weight, input_shape, stride, padding, dilation, groups: (
            F.conv_input_grad(
                g,
                F.conj(weight),
                x_shape=input_shape,
                stride=stride,
                padding=padding,
                dilation=dilation,
                groups=groups,
            )
        ),
        "weight": lambda F, g, input, weight_shape, stride, padding, dilation, groups: (
            F.conv_weight_grad(
                g,
                F.conj(input),
                w_shape=weight_shape,
                stride=stride,
                padding=padding,
                dilation=dilation,
                groups=groups,
            )
        ),
        "bias": lambda F, g: _bias_grad(F, g),
    },
    grad_name="Convolution",
    linked="input? weight?",
    nodes=_nodes,
    batch=_batch_conv,
    title="convolution",
    onnx=_onnx_conv,
    autocast="lower",
    samples=lambda rng: [
        Sample(
            (
                rng.random((2, 4, *image)),
                rng.random((6, 4 // groups, *window)),
                rng.random(6) if bias else None,
            ),
            {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups},
        )
        for bias in (True, False)
        for image, window, stride, padding, dilation, groups in _SAMPLES
    ],
    shows={
        "padding": _low_padding,
        "output_padding": lambda padding: (0,) * len(padding),
        "transposed": lambda: False,
    },
)


def _onnx_conv_transpose(c: Any) -> Any:
    low, high = c.pads
    kernel = c.fixed(c.shape(1))[2:]
    stride, dilation = c.p["stride"], c.p["dilation"]
    sizes = c.fixed(c.shape()[2:])
    extra = []
    for k, wanted in enumerate(c.fixed(c.p["x_shape"][2:])):
        # The part that is cut off less at the end than at the beginning is `output_padding`.
        made = (sizes[k] - 1) * stride[k] + dilation[k] * (kernel[k] - 1) + 1
        high[k] = max(made - low[k] - wanted, 0)
        extra.append(wanted - (made - low[k] - high[k]))
    return c.emit(
        "ConvTranspose",
        c[0],
        c[1],
        kernel_shape=list(kernel),
        strides=list(stride),
        pads=low + high,
        dilations=list(dilation),
        group=int(c.p["groups"]),
        output_padding=extra,
    )


conv_input_grad = defop(
    "conv_input_grad",
    "grad weight",
    forward=lambda xp, g, w, *, x_shape, stride, padding, dilation, groups: xp.conv_input_grad(
        g, w, x_shape, stride, padding, dilation, groups
    ),
    aval=lambda g, w, x_shape, **_: (tuple(x_shape), g[1]),
    # each element of the gradient (or of a transposed convolution's input) is multiplied by the
    # whole kernel
    work=lambda size, g, w: math.prod(g) * math.prod(w[1:]),
    vjp={
        "grad": lambda F, g, weight, stride, padding, dilation, groups: F.conv(
            g,
            F.conj(weight),
            None,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
        ),
        "weight": lambda F, g, grad, weight_shape, stride, padding, dilation, groups: (
            F.conv_weight_grad(
                F.conj(grad),
                g,
                w_shape=weight_shape,
                stride=stride,
                padding=padding,
                dilation=dilation,
                groups=groups,
            )
        ),
    },
    grad_name="Convolution",
    variant=lambda node: ("ConvolutionBackward0", (0, 1, 2)),  # there is no bias
    linked="grad? weight?",
    batch=_batch_input_grad,
    onnx=_onnx_conv_transpose,
    autocast="lower",
    samples=lambda rng: [
        Sample(
            (
                rng.random(
                    _conv_aval(
                        ((2, 4, *image), None), ((6, 4 // groups, *window), None), None, **how
                    )[0]
                ),
                rng.random((6, 4 // groups, *window)),
            ),
            {"x_shape": (2, 4, *image), **how},
        )
        for image, window, stride, padding, dilation, groups in _SAMPLES
        for how in [{"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}]
    ],
    shows={
        "input": "grad",
        "padding": _low_padding,
        "output_padding": lambda padding: tuple([low - high for low, high in padding]),
        "transposed": lambda: True,
    },
)

conv_weight_grad = defop(
    "conv_weight_grad",
    "grad input",
    forward=lambda xp, g, x, *, w_shape, stride, padding, dilation, groups: xp.conv_weight_grad(
        g, x, w_shape, stride, padding, dilation, groups
    ),
    aval=lambda g, x, w_shape, **_: (tuple(w_shape), g[1]),
    vjp={
        "grad": lambda F, g, input, stride, padding, dilation, groups: F.conv(
            F.conj(input), g, None, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        "input": lambda F, g, grad, input_shape, stride, padding, dilation, groups: (
            F.conv_input_grad(
                F.conj(grad),
                g,
                x_shape=input_shape,
                stride=stride,
                padding=padding,
                dilation=dilation,
                groups=groups,
            )
        ),
    },
    grad_name="ConvolutionBackward",
    autocast="lower",
    samples=lambda rng: [
        Sample(
            (
                rng.random(
                    _conv_aval(
                        ((2, 4, *image), None), ((6, 4 // groups, *window), None), None, **how
                    )[0]
                ),
                rng.random((2, 4, *image)),
            ),
            {"w_shape": (6, 4 // groups, *window), **how},
        )
        for image, window, stride, padding, dilation, groups in _SAMPLES
        for how in [{"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}]
    ],
)


def _check_dtypes(name: str, x: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    kind = x._array.dtype
    if kind.kind == "f" and kind is weight._array.dtype:
        if bias is None or kind is bias._array.dtype:
            return  # the usual case
    _check_kernel(name, x)
    a, b, c = x.dtype, weight.dtype, None if bias is None else bias.dtype
    if c not in (None, a) and "transpose" not in name:
        assert c is not None
        raise DtypeError(
            f"Input type ({a.c_name}) and bias type ({c.c_name}) should be the same", op=name
        )
    if a is not b:
        one, other = a.cpu_name, b.cpu_name
        if a.is_complex:
            said = f"Input type ({one}) and weight type ({other}) should be the same"
        elif (
            a is dtypes.bfloat16
            or a is dtypes.float32
            and (
                len(x._array) > 1
                or math.prod(x._array.shape) > 20480
                or min(weight._array.shape[-2:]) > 3
            )
        ):
            # for these sizes PyTorch uses oneDNN, which checks types itself
            said = (
                f"Input type ({one}) and weight type ({other}) should be the same or input should be a MKLDNN tensor and weight is a "
                "dense tensor"
            )
        else:
            said = f"expected scalar type {a.scalar_type_name} but found {b.scalar_type_name}"
        raise DtypeError(said, op=name)
    if c not in (None, a):
        assert c is not None
        raise DtypeError(
            f"Input type ({a.cpu_name}) and bias type ({c.cpu_name}) should be the same",
            op=name,
        )


def _check_kernel(name: str, x: Tensor) -> None:
    """Refuse dtypes for which PyTorch has no kernel: bools, and for transposed convolutions all
    whole numbers other than int64.
    """
    kind = x.dtype
    transposed = "transpose" in name
    if kind.is_integral and (kind is dtypes.bool_ or transposed and kind is not dtypes.int64):
        flat = "3" if name[-2] == "3" else "2"  # PyTorch treats a line as a plane of height 1
        kernel = (
            f"slow_conv_transpose{flat}d_out_cpu"
            if transposed
            else "compute_columns3d"
            if flat == "3"
            else "slow_conv2d_cpu"
        )
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )


def _explained(
    error: Exception, name: str, input: Tensor, weight: Tensor, bias: Tensor | None
) -> Exception:
    operands = [
        operand(n, t)
        for n, t in (("input", input), ("weight", weight), ("bias", bias))
        if t is not None
    ]
    x, w = input._array.shape, weight._array.shape
    known = facts_of(error)
    if known is None:
        return error
    if known.hint is None and 1 < len(x) == len(w) and x[-1] == w[1] and x[1] != w[1]:
        known.hint = (
            "the channels look last: convolutions want (N, C, H, W); use permute(0, 3, 1, 2)"
        )
    return located(error, name, operands)


def _rounded(convolve: Any, n: int, tensors: tuple[Any, ...], *how: Any) -> Tensor:
    """A convolution of half complex numbers, computed in complex64 and rounded once."""
    wide = [t if t is None else F.cast(t, dtype=dtypes.complex64.numpy) for t in tensors]
    made: Tensor = F.cast(convolve(n, *wide, *how), dtype=dtypes.complex32.numpy)
    return made


def _convolve(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    name = f"conv{n}d"
    x = require_tensor(input, name)
    require_tensor(weight, name, "weight", 2)
    if bias is not None:
        require_tensor(bias, name, "bias", 3)
    try:
        shapes.conv_shape(
            n,
            x._array.shape,
            weight._array.shape,
            None if bias is None else bias._array.shape,
            stride,
            padding,
            dilation,
            groups,
        )
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise _explained(error, name, input, weight, bias) from None
    _check_dtypes(name, x, weight, bias)
    if x.dtype is dtypes.complex32:
        return _rounded(_convolve, n, (x, weight, bias), stride, padding, dilation, groups)
    single = x.ndim == n + 1
    if single:
        x = F.unsqueeze(x, dim=0)
    stride, dilation = per_dimension(stride, n), per_dimension(dilation, n)
    if isinstance(padding, str):
        pads = (
            ((0, 0),) * n
            if padding == "valid"
            else shapes.same_padding(weight._array.shape[2:], dilation)
        )
    else:
        pads = tuple((p, p) for p in per_dimension(padding, n))
    stride, dilation = (
        shapes.within(steps, x._array.shape[2:], pads) for steps in (stride, dilation)
    )
    out = in_format(
        conv_op.call(
            x, weight, bias, stride=stride, padding=pads, dilation=dilation, groups=groups
        ),
        x,
        weight,
    )
    # with no input channels, PyTorch's result has no channels
    if not weight._array.shape[1] and weight._array.shape[0]:
        out = F.slice(out, dim=1, start=0, end=0, step=1)
    return titled(F.squeeze(out, dims=(0,)), "SqueezeBackward1") if single else out


@public(namespace="nn.functional torch")
@low_precision_alone
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over one dimension, which the field calls convolution: the kernel is not
    flipped.

    Stride, padding and dilation are each a number.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        weight: `(O, C / groups, K)`, of the same dtype.
        bias: `(O,)` or None.
        stride: step between two positions of the kernel. Default: 1.
        padding: zeros on both sides; "valid" adds none, "same" (stride 1 only) as many as keep the
            size. Default: 0.
        dilation: step between two elements of the kernel. Default: 1.
        groups: groups of channels that are convolved separately. Default: 1.

    Returns:
        `(N, O, ...)` or `(O, ...)`, where each spatial size is (size + 2 padding - dilation (kernel
        - 1) - 1) // stride + 1.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the input is smaller than the kernel.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2))
    tensor([[[2., 2., 2.]]])
    """
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@public(namespace="nn.functional torch")
@low_precision_alone
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over two dimensions, which the field calls convolution: the kernel is not
    flipped.

    Stride, padding and dilation are each a number or a pair (height, width).

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        weight: `(O, C / groups, KH, KW)`, of the same dtype.
        bias: `(O,)` or None.
        stride: step between two positions of the kernel. Default: 1.
        padding: zeros on both sides; "valid" adds none, "same" (stride 1 only) as many as keep the
            size. Default: 0.
        dilation: step between two elements of the kernel. Default: 1.
        groups: groups of channels that are convolved separately. Default: 1.

    Returns:
        `(N, O, ...)` or `(O, ...)`, where each spatial size is (size + 2 padding - dilation (kernel
        - 1) - 1) // stride + 1.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the input is smaller than the kernel.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@public(namespace="nn.functional torch")
@low_precision_alone
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over three dimensions, which the field calls convolution: the kernel is not
    flipped.

    Stride, padding and dilation are each a number or a triple (depth, height, width).

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        weight: `(O, C / groups, KD, KH, KW)`, of the same dtype.
        bias: `(O,)` or None.
        stride: step between two positions of the kernel. Default: 1.
        padding: zeros on both sides; "valid" adds none, "same" (stride 1 only) as many as keep the
            size. Default: 0.
        dilation: step between two elements of the kernel. Default: 1.
        groups: groups of channels that are convolved separately. Default: 1.

    Returns:
        `(N, O, ...)` or `(O, ...)`, where each spatial size is (size + 2 padding - dilation (kernel
        - 1) - 1) // stride + 1.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the input is smaller than the kernel.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(2, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def _transpose(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    name = f"conv_transpose{n}d"
    x = require_tensor(input, name)
    require_tensor(weight, name, "weight", 2)
    if bias is not None:
        require_tensor(bias, name, "bias", 3)
    out_shape = shapes.conv_transpose_shape(
        n,
        x._array.shape,
        weight._array.shape,
        None if bias is None else bias._array.shape,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        x._array.dtype.itemsize <= (8 if x.dtype.is_complex else 4),
    )
    _check_dtypes(name, x, weight, bias)
    if x.dtype is dtypes.complex32:
        how = stride, padding, output_padding, groups, dilation
        return _rounded(_transpose, n, (x, weight, bias), *how)
    single = x.ndim == n + 1
    if single:
        x, out_shape = F.unsqueeze(x, dim=0), (1, *out_shape)
    # Output padding means less padding at the end: then the convolution of the result has exactly
    # the input's size.
    pads = tuple(
        (p, p - extra)
        for p, extra in zip(
            per_dimension(padding, n), per_dimension(output_padding, n), strict=True
        )
    )
    out = conv_input_grad.call(
        x,
        weight,
        x_shape=tuple(out_shape),
        stride=shapes.within(per_dimension(stride, n), out_shape[2:], pads),
        padding=pads,
        dilation=shapes.within(per_dimension(dilation, n), out_shape[2:], pads),
        groups=groups,
    )
    if bias is not None:
        out = titled(
            out + bias.reshape(1, -1, *(1,) * n),
            "Convolution",
            x,
            weight,
            of=(x, weight, bias),
            stride=per_dimension(stride, n),
            padding=per_dimension(padding, n),
            dilation=per_dimension(dilation, n),
            output_padding=per_dimension(output_padding, n),
            groups=groups,
            transposed=True,
        )
    out = in_format(out, x, weight)
    return titled(F.squeeze(out, dims=(0,)), "SqueezeBackward1") if single else out


@public(namespace="nn.functional torch")
@low_precision_alone
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution over one dimension: the gradient of `conv1d` in its input.

    Stride, padding, output padding and dilation are each a number.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        weight: `(C, O / groups, K)`, of the same dtype.
        bias: `(O,)` or None.
        stride: step between the copies of the kernel of two neighbors. Default: 1.
        padding: elements cut off on both sides of the result. Default: 0.
        output_padding: size added at the end; smaller than the stride or the dilation. Default: 0.
        groups: groups of channels that are convolved separately. Default: 1.
        dilation: step between two elements of the kernel. Default: 1.

    Returns:
        `(N, O, ...)` or `(O, ...)`, where each spatial size is (size - 1) stride - 2 padding +
        dilation (kernel - 1) +
            output_padding + 1.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or `output_padding` is too large.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv_transpose1d(torch.ones(1, 1, 2), torch.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 1., 1.]]])
    """
    return _transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@public(namespace="nn.functional torch")
@low_precision_alone
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution over two dimensions: the gradient of `conv2d` in its input.

    Stride, padding, output padding and dilation are each a number or a pair (height, width).

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        weight: `(C, O / groups, KH, KW)`, of the same dtype.
        bias: `(O,)` or None.
        stride: step between the copies of the kernel of two neighbors. Default: 1.
        padding: elements cut off on both sides of the result. Default: 0.
        output_padding: size added at the end; smaller than the stride or the dilation. Default: 0.
        groups: groups of channels that are convolved separately. Default: 1.
        dilation: step between two elements of the kernel. Default: 1.

    Returns:
        `(N, O, ...)` or `(O, ...)`, where each spatial size is (size - 1) stride - 2 padding +
        dilation (kernel - 1) +
            output_padding + 1.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or `output_padding` is too large.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 3, 2, 2), stride=2).shape
    torch.Size([1, 3, 4, 4])
    """
    return _transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@public(namespace="nn.functional torch")
@low_precision_alone
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Transposed convolution over three dimensions: the gradient of `conv3d` in its input.

    Stride, padding, output padding and dilation are each a number or a triple (depth, height,
    width).

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        weight: `(C, O / groups, KD, KH, KW)`, of the same dtype.
        bias: `(O,)` or None.
        stride: step between the copies of the kernel of two neighbors. Default: 1.
        padding: elements cut off on both sides of the result. Default: 0.
        output_padding: size added at the end; smaller than the stride or the dilation. Default: 0.
        groups: groups of channels that are convolved separately. Default: 1.
        dilation: step between two elements of the kernel. Default: 1.

    Returns:
        `(N, O, ...)` or `(O, ...)`, where each spatial size is (size - 1) stride - 2 padding +
        dilation (kernel - 1) +
            output_padding + 1.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or `output_padding` is too large.

    >>> import pellucid as torch
    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 3, 2, 2, 2), stride=2).shape
    torch.Size([1, 3, 4, 4, 4])
    """
    return _transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
