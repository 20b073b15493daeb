"""Sliding windows as columns (fold, unfold), unpooling, and pools composed of other operations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import config, dtypes, shapes
from ...arrays.native import kernels
from ...core import tracing
from ...core.bind import wrap
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.streams import generator as random
from ...core.streams.fill import uniform
from ...core.tape import reads_later, titled
from ...core.tensor import Tensor
from ...core.transforms.whole import in_one_node
from ...errors import ArgumentValueError, OperationError, UnsupportedError
from ...shapes.dims import listed
from .._few import Few, compiles
from .._format import in_format
from .._overloads import native
from .._rules import asked_for, at_full_precision, per_dimension, require_tensor
from .._samples import cases
from .pool._window import Shown, batched, stride_of, unbatched
from .pool.average import avg_pool1d, avg_pool2d, avg_pool3d
from .pool.max import max_pool1d, max_pool2d, max_pool3d

Sizes = int | Sequence[int]


def _window_view(xp: Any, x: Any, kernel: Any, dilation: Any, stride: Any, out: Any) -> Any:
    """Return a view (N, C, KH, KW, OH, OW) of a padded image (N, C, H, W)."""
    n, c = x.shape[:2]
    sn, sc, sh, sw = x.strides
    return xp.lib.stride_tricks.as_strided(
        x,
        (n, c, *kernel, *out),
        (sn, sc, sh * dilation[0], sw * dilation[1], sh * stride[0], sw * stride[1]),
    )


def _out_sizes(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, ...]:
    return tuple(
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(size, kernel, dilation, padding, stride, strict=True)
    )


def _unfold(xp: Any, x: Any, *, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    if type(x) is np.ndarray and config.kernels:
        made = kernels.windows.fold.columns(
            x, kernels.windows.fold.Windows(x.shape[2:], kernel, dilation, padding, stride)
        )
        if made is not None:
            return made
    out = _out_sizes(x.shape[2:], kernel, dilation, padding, stride)
    padded = xp.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    return _window_view(xp, padded, kernel, dilation, stride, out).reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)
    )


def _fold(
    xp: Any, x: Any, *, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    if type(x) is np.ndarray and config.kernels:
        made = kernels.windows.fold.images(
            x, kernels.windows.fold.Windows(size, kernel, dilation, padding, stride)
        )
        if made is not None:
            return made
    out = _out_sizes(size, kernel, dilation, padding, stride)
    n = x.shape[0]
    channels = x.shape[1] // math.prod(kernel)
    columns = x.reshape(n, channels, *kernel, *out)
    total = xp.zeros((n, channels, size[0] + 2 * padding[0], size[1] + 2 * padding[1]), x.dtype)
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            total[
                :,
                :,
                top : top + stride[0] * (out[0] - 1) + 1 : stride[0],
                left : left + stride[1] * (out[1] - 1) + 1 : stride[1],
            ] += columns[:, :, i, j]
    return xp.ascontiguousarray(
        total[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]
    )


_OPTIONS = (
    {"kernel": (2, 2), "dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)},
    {"kernel": (3, 2), "dilation": (1, 2), "padding": (1, 1), "stride": (2, 3)},
)


def _onnx_im2col(c: Any) -> Any:
    """Translate to one Gather of positions in the flattened, padded image."""
    (high, wide), kernel = c.fixed(c.shape()[2:]), c.p["kernel"]
    (dy, dx), (py, px), (sy, sx) = c.p["dilation"], c.p["padding"], c.p["stride"]
    padded = (
        c.emit("Pad", c[0], c.ints([0, 0, py, px, 0, 0, py, px]), c.number(0), mode="constant")
        if py or px
        else c[0]
    )
    high, wide = high + 2 * py, wide + 2 * px
    rows, columns = (
        (high - dy * (kernel[0] - 1) - 1) // sy + 1,
        (wide - dx * (kernel[1] - 1) - 1) // sx + 1,
    )
    y = np.arange(kernel[0])[:, None, None, None] * dy + np.arange(rows)[:, None] * sy
    x = np.arange(kernel[1])[:, None, None] * dx + np.arange(columns) * sx
    picked = (y * wide + x).reshape(-1)
    flat = c.emit("Reshape", padded, c.ints([0, 0, high * wide]))
    out = c.emit("Gather", flat, c.const(picked), axis=2)
    return c.reshape(out, c.out_shape, ())


unfold_op = defop(
    "im2col",
    "input",
    overload="im2col",
    forward=_unfold,
    vjp={
        "input": lambda F, g, input_shape, kernel, dilation, padding, stride: F.col2im(
            g,
            size=tuple(input_shape[2:]),
            kernel=kernel,
            dilation=dilation,
            padding=padding,
            stride=stride,
        )
    },
    jvp="linear",
    grad_name="Im2Col",
    traits="passes",
    title="unfold",
    onnx=_onnx_im2col,
    samples=cases(*((((2, 3, 5, 4),), options) for options in _OPTIONS)),
)


def _onnx_col2im(c: Any) -> Any:
    if c.graph.opset < 18:
        raise c.refuse("needs opset 18")
    pads = list(c.p["padding"]) * 2
    size, kernel = c.ints(c.fixed(c.p["size"])), c.ints(c.p["kernel"])
    return c.emit(
        "Col2Im",
        c[0],
        size,
        kernel,
        dilations=list(c.p["dilation"]),
        pads=pads,
        strides=list(c.p["stride"]),
    )


fold_op = defop(
    "col2im",
    "input",
    overload="col2im",
    forward=_fold,
    vjp={
        "input": lambda F, g, kernel, dilation, padding, stride: F.im2col(
            g, kernel=kernel, dilation=dilation, padding=padding, stride=stride
        )
    },
    jvp="linear",
    grad_name="Col2Im",
    title="fold",
    onnx=_onnx_col2im,
    samples=cases(
        (((2, 12, 12),), {"size": (5, 4), **_OPTIONS[0]}),
        (((2, 18, 6),), {"size": (5, 4), **_OPTIONS[1]}),
    ),
)


@public(namespace="nn.functional")
def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Every window of `(N, C, H, W)` as a column: `(N, C * KH * KW, L)`.

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: size of the window, a number or a pair; so are the following.
        dilation: step between two elements of a window. Default: 1.
        padding: zeros at both sides. Default: 0.
        stride: step between windows. Default: 1.

    Returns:
        `(N, C * KH * KW, L)` or `(C * KH * KW, L)`, with L the number of positions of the window.

    Raises:
        RuntimeError: an image smaller than the window.

    >>> import pellucid as torch
    >>> torch.nn.functional.unfold(torch.ones(1, 2, 4, 4), 2).shape
    torch.Size([1, 8, 9])
    """
    asked = (kernel_size, dilation, padding, stride)
    whole = {*map(type, asked)} == {int}
    if whole and (made := _few.made(input, *asked)) is not None:
        return made
    out = _im2col(input, *map(pair, asked))
    if whole and out._array.ndim == 3:
        _few.remember(input, asked, lambda a: _prepared(a, *map(pair, asked)), out)
    return out


_few = Few()


def _prepared(a: np.ndarray, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Return a function that copies the windows of such images to columns. False if there is none,
    None if there is not yet native code.
    """
    if not compiles():
        return None
    fold = kernels.windows.fold
    windows = fold.Windows(a.shape[2:], kernel, dilation, padding, stride)
    return fold.prepared(a.shape, a.dtype, windows, False) or False


def pair(size: Any) -> tuple[Any, ...]:
    """A size for each of two dimensions, given as one or as several."""
    return tuple(size) if isinstance(size, Iterable) else (size, size)


@native("_nn.im2col")
def _im2col(input: Tensor, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    x = require_tensor(input, "im2col")
    for name, size in (
        ("kernel_size", kernel_size),
        ("dilation", dilation),
        ("padding", padding),
        ("stride", stride),
    ):
        if len(size) != 2:
            raise OperationError(f"It is expected {name} equals to 2, but got size {len(size)}")
    if not (x.dtype.is_floating_point or x.dtype.is_complex or x.dtype is dtypes.bool_):
        raise UnsupportedError(
            f"\"im2col_out_cpu\" not implemented for '{x.dtype.scalar_type_name}'"
        )
    kernel, dil, pad, step = (per_dimension(v, 2) for v in (kernel_size, dilation, padding, stride))
    shapes.unfold_windows_shape(x._array.shape, kernel, dil, pad, step)
    x, lead = batched(x, 2)
    return unbatched(unfold_op.call(x, kernel=kernel, dilation=dil, padding=pad, stride=step), lead)


@public(namespace="nn.functional")
def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Add columns back into the image they were windows of; the transpose of `unfold`.

    Args:
        input: `(N, C * KH * KW, L)` or `(C * KH * KW, L)`.
        output_size: height and width of the image, a number or a pair.
        kernel_size: size of the window, a number or a pair; so are the following.
        dilation: step between two elements of a window. Default: 1.
        padding: zeros at both sides. Default: 0.
        stride: step between windows. Default: 1.

    Returns:
        `(N, C, *output_size)` or `(C, *output_size)`; values of windows that overlap are added.

    Raises:
        RuntimeError: sizes that do not fit each other.

    >>> import pellucid as torch
    >>> torch.nn.functional.fold(torch.ones(1, 4, 9), (4, 4), 2).shape
    torch.Size([1, 1, 4, 4])
    """
    sizes = (output_size, kernel_size, dilation, padding, stride)
    return _col2im(input, *(pair(v) for v in sizes))


@native("_nn.col2im")
def _col2im(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Tensor:
    x = require_tensor(input, "col2im")
    size, kernel, dil, pad, step = (
        per_dimension(v, 2) for v in (output_size, kernel_size, dilation, padding, stride)
    )
    shapes.fold_shape(x._array.shape, size, kernel, dil, pad, step)
    single = x.ndim == 2
    if single:
        x = F.unsqueeze(x, dim=0)
    return unbatched(
        fold_op.call(x, size=size, kernel=kernel, dilation=dil, padding=pad, stride=step),
        1 if single else 2,
    )


# ---- unpooling ----------------------------------------------------------------------------------
def _unpool(
    n: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Sequence[int] | None,
) -> Tensor:
    if n == 1:  # one dimension is computed as a plane
        asked_for("unsqueeze", indices)
    x, i = (
        at_full_precision(require_tensor(input, f"max_unpool{n}d")),
        require_tensor(indices, f"max_unpool{n}d", "indices", 2),
    )
    kernel = per_dimension(kernel_size, n)
    steps, pads = stride_of(stride, kernel, n), per_dimension(padding, n)
    usual = [
        (s - 1) * t - 2 * p + k
        for s, t, p, k in zip(x._array.shape[-n:], steps, pads, kernel, strict=True)
    ]
    if output_size is None:
        size = usual
    else:
        size = list(output_size)
        if len(size) == n + 2:
            size = size[2:]
        if len(size) != n:
            raise ArgumentValueError(
                f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'"
            )
        for d in range(n):
            low, high = usual[d] - steps[d], usual[d] + steps[d]
            if not low < size[d] < high:
                raise ArgumentValueError(
                    f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})'
                )
    if i._array.dtype != np.int64:
        found = "" if n == 3 else f" but got: {i.dtype.scalar_type_name}"
        raise OperationError("elements in indices should be type int64" + found)
    if x._array.shape != i._array.shape:
        # one dimension counts as an image of height 1
        shown, got = ([*t._array.shape, 1] if n == 1 else [*t._array.shape] for t in (x, i))
        raise OperationError(
            f"Expected shape of indices to be same as that of the input tensor ({shown}) but got indices tensor with shape: {got}"
        )
    empty = [d for d in range(x.ndim) if not x._array.shape[d] and (d or x.ndim < n + 2)]
    if empty:
        raise OperationError(
            f"max_unpooling{max(n, 2)}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got "
            f"{list(x._array.shape)} with dimension {empty[0]} being empty."
        )
    x, lead = batched(x, n)
    index = i._array.reshape(x._array.shape)
    if index.size:
        tracing.check(_check_places, index, tuple(size))
    shape = (*x._array.shape[:2], *size)
    # If several windows name one position, the last one counts, as in PyTorch.
    out = in_format(reads_later(unpool_op.call(x, index=index, shape=shape), i), x)
    return unbatched(out, lead, input)


def _check_places(index: np.ndarray, size: tuple[int, ...]) -> None:
    total = math.prod(size)
    if index.min() < 0 or index.max() >= total:
        bad = int(
            index.reshape(-1)[np.flatnonzero((index < 0).ravel() | (index >= total).ravel())[0]]
        )
        # one dimension counts as a plane
        shown = "x".join(map(str, size if len(size) > 1 else (*size, 1)))
        raise OperationError(
            f"Found an invalid max index: {bad} (output volumes are of size {shown})"
        )


def _unpool_forward(xp: Any, x: Any, *, index: Any, shape: Any) -> Any:
    out = xp.zeros((shape[0], shape[1], math.prod(shape[2:])), x.dtype)
    flat = (*shape[:2], math.prod(x.shape[2:]))
    xp.put_along_axis(out, index.reshape(flat), x.reshape(flat), -1)
    return out.reshape(shape)


unpool_op = defop(
    "max_unpool",
    "input",
    packs="index",
    grad_name="MaxUnpool",
    variant=(shown := Shown("MaxUnpool", dim=3)),
    nodes=shown.nodes,
    forward=_unpool_forward,
    vjp={"input": lambda F, g, index: F.pool_gather(g, index=index)},
    aval=lambda x, index, shape: (shape, x[1]),
    jvp="linear",
    samples=cases(
        (
            ((1, 2, 2, 2),),
            {"index": np.array([[[[0, 3], [9, 10]], [[5, 6], [8, 15]]]]), "shape": (1, 2, 4, 4)},
        )
    ),
)


def _make_unpool(n: int) -> None:
    def function(
        input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Any = None, padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor:  # fmt: skip
        return _unpool(n, input, indices, kernel_size, stride, padding, output_size)

    function.__name__ = f"max_unpool{n}d"
    function.__doc__ = (
        f"Put the values of a `max_pool{n}d` back at their positions, zeros elsewhere.\n\n"
        ">>> import pellucid as torch\n>>> F = torch.nn.functional\n"
        f">>> values, places = F.max_pool{n}d(torch.ones(3{', 4' * n}), 2, return_indices=True)\n"
        f">>> F.max_unpool{n}d(values, places, 2).shape\ntorch.Size({[3] + [4] * n})\n"
    )
    public(namespace="nn.functional")(function)


for _n in (1, 2, 3):
    _make_unpool(_n)


# ---- p-norm pools -------------------------------------------------------------------------------
def _lp(
    n: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Tensor:
    pool: Any = (avg_pool1d, avg_pool2d, avg_pool3d)[n - 1]
    kernel = per_dimension(kernel_size, n)
    x = require_tensor(input, f"lp_pool{n}d")
    if norm_type == math.inf:
        largest: Any = (max_pool1d, max_pool2d, max_pool3d)[n - 1]
        return largest(x.abs(), kernel_size, stride, 0, 1, ceil_mode)
    out = pool(x**norm_type, kernel_size, stride, 0, ceil_mode)
    return (out.sign() * out.abs().relu() * math.prod(kernel)) ** (1.0 / norm_type)


@public(namespace="nn.functional")
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average pooling: the p-norm of each window of `(N, C, L)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    return _lp(1, input, norm_type, kernel_size, stride, ceil_mode)


@public(namespace="nn.functional")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average pooling: the p-norm of each window of `(N, C, H, W)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _lp(2, input, norm_type, kernel_size, stride, ceil_mode)


@public(namespace="nn.functional")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average pooling: the p-norm of each window of `(N, C, D, H, W)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 2), 1, 2)
    tensor([[[[8.]]]])
    """
    return _lp(3, input, norm_type, kernel_size, stride, ceil_mode)


# ---- fractional pools ---------------------------------------------------------------------------
def _starts(sample: np.ndarray, size: int, out: int, kernel: int, dtype: Any) -> np.ndarray:
    """Return the starts of the windows, a pseudo-random sequence of steps (Graham, "Fractional
    Max-Pooling", 2014).
    """
    if out < 2:
        return np.full((*sample.shape, out), size - kernel, np.int64)
    alpha = np.asarray((size - kernel) / (out - 1), dtype)
    i = np.arange(out - 1).astype(dtype)  # compute in the input's dtype
    s = sample[..., None].astype(dtype)
    starts = ((i + s) * alpha).astype(np.int64) - (s * alpha).astype(np.int64)
    return np.concatenate([starts, np.full((*sample.shape, 1), size - kernel, np.int64)], -1)


_SIDES = ("time", "height", "width")


def _exactly(n: int, what: str, value: Any) -> tuple[int, ...]:
    """Return one number for each dimension, given one for all or one for each."""
    if listed(value) and len(value) != n:
        many = "three Ints" if n == 3 else "Ints"
        raise OperationError(
            f"fractional_max_pool{n}d: {what} must either be a single Int or tuple of {many}"
        )
    return per_dimension(value, n)


def _fractional(
    n: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    samples: Tensor | None,
) -> Any:
    input = x = at_full_precision(require_tensor(input, f"fractional_max_pool{n}d"))
    if output_size is None and output_ratio is None:
        raise ArgumentValueError(
            f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio"
        )
    kernel = _exactly(n, "kernel_size", kernel_size)
    shape, where = x._array.shape, f"fractional_max_pool{n}d" + ("_out()" if n == 3 else "()")
    if x.ndim not in (n + 1, n + 2):
        raise OperationError(
            f"{where}: Expected {n + 1}D or {n + 2}D tensor, but got: {list(shape)}"
        )
    for d in range(x.ndim - n - 1, x.ndim):
        if not shape[d]:
            raise OperationError(
                f"{where}: Expected input to have non-zero size for non-batch dimensions, but got{list(shape)} with dimension {d} "
                "being empty."
            )
    if output_size is None:
        ratio = (output_ratio,) * n if isinstance(output_ratio, float) else tuple(output_ratio)
        out = tuple(int(s * r) for s, r in zip(x._array.shape[-n:], ratio, strict=True))
    else:
        out = _exactly(n, "output_size", output_size)
    for d in (0, 2, 1) if n == 3 else range(n):
        # volumes must have one element more in PyTorch, which checks the width first
        if out[d] + kernel[d] - 1 + (n == 3) > x._array.shape[d - n]:
            raise OperationError(
                f"{where}: pool {_SIDES[d - n]} {kernel[d]} too large relative to input {_SIDES[d - n]} {shape[d - n]}"
            )
    negative = next((size for size in out if size < 0), 0)
    if negative:
        raise OperationError(
            f"Trying to create tensor with negative dimension {negative}: {[*shape[:-n], *out]}"
        )
    x, lead = batched(x, n)
    batch, channels = x._array.shape[:2]
    if samples is None:
        drawn = uniform(random.default_generator, (batch, channels, n), dtype=x._array.dtype)
    else:
        drawn = samples._array
        if samples.dtype != x.dtype:
            raise OperationError("Expect _random_samples to have the same dtype as input")
        if drawn.ndim != 3:
            raise OperationError(f"Expect _random_samples to have 3 dimensions, got {drawn.ndim}")
        if drawn.shape[0] < batch:
            raise OperationError("Expect _random_samples.size(0) no less then input batch size.")
        if drawn.shape[1] != channels:
            raise OperationError("Expect _random_samples.size(1) equals to input channel size.")
        if drawn.shape[2] != n:
            raise OperationError(
                f"Expect _random_samples.size(2) equals to {n}; got {drawn.shape[2]}."
            )
        drawn = drawn[:batch]
    index = tracing.effect(_fractional_maxima, x._array, drawn, out, kernel)
    places = unbatched(wrap(index), lead)
    title = f"FractionalMaxPool{n}D"
    result = in_one_node(title, "x", "x places", _at_places, x=input, places=places, n=n)
    return (result, places) if return_indices else result


def _at_places(x: Tensor, places: Tensor, n: int) -> Tensor:
    whole, lead = batched(x, n)
    index = places._array if lead != 1 else places._array[None]
    made = reads_later(F.pool_gather(whole, index=index), places)
    return titled(
        unbatched(made, lead),
        f"FractionalMaxPool{n}D",
        x,
        of=(x,),
        result1=places,
        output_size=places.shape[-n:],
    )


def _fractional_maxima(
    x: np.ndarray, drawn: np.ndarray, out: tuple[int, ...], kernel: tuple[int, ...]
) -> np.ndarray:
    """Return the positions of the maxima of windows at pseudo-random steps.

    Windows differ between planes, so positions are gathered. Samples are ordered (width, height),
    as PyTorch reads them.
    """
    (batch, channels), size = x.shape[:2], x.shape[2:]
    n = len(size)
    flat = np.zeros((batch, channels, *(1,) * (2 * n)), np.int64)
    for d in range(n):
        which = n - 1 - d if n == 2 else d
        starts = _starts(drawn[:, :, which], size[d], out[d], kernel[d], x.dtype)
        where = starts[..., :, None] + np.arange(kernel[d])
        shape = [batch, channels] + [1] * (2 * n)
        shape[2 + d], shape[2 + n + d] = out[d], kernel[d]
        flat = flat * size[d] + where.reshape(shape)
    windows = math.prod(out) * math.prod(kernel)
    planes = flat.reshape(batch, channels, windows)
    values = np.take_along_axis(x.reshape(batch, channels, math.prod(size)), planes, -1)
    values = values.reshape(batch, channels, *out, math.prod(kernel))
    best = np.argmax(values, -1)
    nan = np.isnan(values)
    if nan.any():  # the last NaN counts
        best = np.where(nan.any(-1), nan.shape[-1] - 1 - np.argmax(nan[..., ::-1], -1), best)
    return np.take_along_axis(
        flat.reshape(batch, channels, *out, math.prod(kernel)), best[..., None], -1
    )[..., 0]


def _make_fractional(n: int) -> None:
    def function(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        return _fractional(
            n, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    def with_indices(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        return _fractional(n, input, kernel_size, output_size, output_ratio, True, _random_samples)

    function.__name__ = f"fractional_max_pool{n}d"
    function.__doc__ = (
        "Maxima over windows of one size at pseudo-random steps. Source: Graham, 2014.\n\n"
        ">>> import pellucid as torch\n>>> F = torch.nn.functional\n"
        f">>> F.fractional_max_pool{n}d(torch.ones(1, 3{', 8' * n}), 2, output_size=5).shape\n"
        f"torch.Size({[1, 3] + [5] * n})\n"
    )
    with_indices.__name__ = f"fractional_max_pool{n}d_with_indices"
    with_indices.__doc__ = function.__doc__
    public(namespace="nn.functional")(function)
    public(namespace="nn.functional")(with_indices)


for _n in (2, 3):
    _make_fractional(_n)
