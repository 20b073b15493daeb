"""Output shapes of padding, and of cutting images into windows and summing windows into images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from operator import index as as_index

from ..errors import DimensionError, ShapeError, UnsupportedError
from .dims import Shape, text
from .spatial import NAMES, Sizes, labelled


def pad_shape(x: Sequence[int], pad: Sequence[int], mode: str = "constant") -> Shape:
    """The shape of `pad`: `(before, after)` pairs from the last dimension backwards, negative to
    cut off.

    Raises:
        RuntimeError: an odd number of numbers or too many, nothing left, or more to reflect or wrap
            than there is.
        NotImplementedError: unknown mode, or a combination of dimensions that the mode does not
            cover.

    Example:
        >>> pad_shape((2, 3), (1, 1, 0, 5))
        (7, 5)
    """
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise UnsupportedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise ShapeError("Padding length must be divisible by 2")
    if len(pad) > 2 * len(x):
        raise ShapeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {len(x)}"
        )
    n = len(pad) // 2
    if mode != "constant":
        _check_border_pad(x, pad, mode, n)
    shape = list(x)
    for k in range(n):
        before, after = pad[2 * k], pad[2 * k + 1]
        d = len(x) - 1 - k
        shape[d] += before + after
        if mode == "constant" and (shape[d] < 0 or min(before, after, before + after) < -x[d]):
            raise ShapeError("narrow(): length must be non-negative.", dims=(-1 - k,))
        if mode == "circular" and shape[d] < 0:
            raise ShapeError(
                "Negative padding value is resulting in an empty dimension", dims=(-1 - k,)
            )
        if mode in ("reflect", "replicate") and shape[d] < 1:
            raise ShapeError(
                f"input (W: {x[d]}) is too small. Calculated output W: {shape[d]}", dims=(-1 - k,)
            )
    return tuple(shape)


def _check_border_pad(x: Sequence[int], pad: Sequence[int], mode: str, n: int) -> None:
    if n not in (1, 2, 3) or len(x) not in (n + 1, n + 2):
        raise UnsupportedError(
            f"Padding size {len(pad)} is not supported for {len(x)}D input tensor.",
            notes=[f"{d + 1}D or {d + 2}D input: padding size = {2 * d}" for d in (1, 2, 3)],
        )
    if mode != "circular" and 0 in x[-n - 1 :]:
        raise ShapeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {text(x)}"
        )
    for k in range(n):
        before, after, d = pad[2 * k], pad[2 * k + 1], len(x) - 1 - k
        if mode == "circular" and max(before, after) > x[d]:
            raise ShapeError("Padding value causes wrapping around more than once.", dims=(-1 - k,))
        if mode == "reflect" and max(before, after) >= x[d]:
            raise ShapeError(
                f"Argument #{4 + 2 * k}: Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({before}, {after}) at dimension {d} of input {text(x)}",
                dims=(-1 - k,),
            )


def _window_numbers(
    kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> tuple[Shape, ...]:
    numbers = []
    for name, value in (
        ("kernel_size", kernel),
        ("dilation", dilation),
        ("padding", padding),
        ("stride", stride),
    ):
        values = (
            (as_index(value),)
            if not isinstance(value, Iterable)
            else tuple(as_index(v) for v in value)
        )
        if len(values) not in (1, 2) or (isinstance(value, Iterable) and len(values) == 1):
            raise ShapeError(f"It is expected {name} equals to 2, but got size {len(values)}")
        numbers.append(values * (2 // len(values)))
    for label, prefix, values, least in (
        ("kernel size should be greater than zero", "kernel_", numbers[0], 1),
        ("dilation should be greater than zero", "dilation_", numbers[1], 1),
        ("padding should be non-negative", "pad_", numbers[2], 0),
        ("stride should be greater than zero", "stride_", numbers[3], 1),
    ):
        if min(values) < least:
            raise ShapeError(f"{label}, but got {labelled(prefix, values, NAMES)}")
    return tuple(numbers)


def unfold_windows_shape(
    x: Sequence[int], kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Shape:
    """The shape of `nn.functional.unfold`: `(batch, channels * kernel elements, windows)`.

    Raises:
        RuntimeError: no window fits, or the input is not an image or a batch of images.

    Example:
        >>> unfold_windows_shape((2, 3, 8, 8), 3)
        (2, 27, 36)
    """
    kernel, dils, pads, steps = _window_numbers(kernel_size, dilation, padding, stride)
    if len(x) < 3:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-max(len(x), 1)}, {max(len(x), 1) - 1}], but got {len(x)})"
        )
    if len(x) not in (3, 4) or 0 in x[-3:]:
        raise ShapeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {text(x)}"
        )
    counts = tuple(
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(x[-2:], kernel, dils, pads, steps)
    )
    if min(counts) < 1:
        raise ShapeError(
            f"Given input with spatial size {tuple(x[-2:])}, kernel_size={kernel}, dilation={dils}, padding={pads}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    return (*x[:-3], x[-3] * prod(kernel), prod(counts))


def fold_shape(
    x: Sequence[int],
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Shape:
    """The shape of `nn.functional.fold`, which sums windows
    `(batch, channels * kernel elements, windows)` into images.

    Raises:
        RuntimeError: the number of windows or of elements in one does not fit.

    Example:
        >>> fold_shape((2, 27, 36), 8, 3)
        (2, 3, 8, 8)
    """
    size = (
        (as_index(output_size),) * 2
        if not isinstance(output_size, Iterable)
        else tuple(output_size)
    )
    if len(size) != 2:
        raise ShapeError(f"It is expected output_size equals to 2, but got size {len(size)}")
    kernel, dils, pads, steps = _window_numbers(kernel_size, dilation, padding, stride)
    if len(x) not in (2, 3) or 0 in x[-2:]:
        raise ShapeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {text(x)}"
        )
    if x[-2] % prod(kernel):
        raise ShapeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x[-2]} and kernel_size={kernel}."
        )
    counts = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, k, d, p, t in zip(size, kernel, dils, pads, steps)
    ]
    if prod(counts) == x[-1] and min(counts) < 1:
        raise ShapeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dils}, padding={pads}, stride={steps}, calculated shape of the "
            f"array of sliding blocks as {tuple(counts)}, which is too small (non-positive)"
        )
    if prod(counts) != x[-1]:
        raise ShapeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dils}, padding={pads}, stride={steps}, "
            "expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{counts[0]} * {counts[1]} = {prod(counts)}, but got input.size(2)={x[-1]}."
        )
    return (*x[:-2], x[-2] // prod(kernel), *size)
