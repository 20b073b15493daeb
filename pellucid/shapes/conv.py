"""Output shapes of convolution and transposed convolution in `n` = 1, 2 or 3 spatial dimensions.

Inputs are `(batch, channels, *spatial)`, or `(channels, *spatial)` for one sample without a batch
dimension.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ShapeError
from .dims import Shape, text
from .spatial import NAMES, Sizes, by, labelled, per_dim, plane


def conv_shape(
    n: int,
    x: Sequence[int],
    weight: Sequence[int],
    bias: Sequence[int] | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Shape:
    """The shape of a convolution of `x` with `weight`
    `(out_channels, in_channels / groups, *kernel)`.

    Each output size is `(size + 2 padding - dilation (kernel - 1) - 1) // stride + 1`.

    Args:
        padding: a number for each dimension, `"valid"` or `"same"`.

    Raises:
        RuntimeError: channels, kernel, bias or a parameter do not fit.

    Example:
        >>> conv_shape(2, (8, 3, 32, 32), (16, 3, 5, 5), (16,), stride=2)
        (8, 16, 14, 14)
    """
    given = (n, x, weight, bias, stride, padding, dilation, groups)
    plain = type(groups) is int and whole(stride) and whole(padding) and whole(dilation)
    if plain and type(x) is type(weight) is tuple and (bias is None or type(bias) is tuple):
        return _known_conv_shape(*given)
    return _conv_shape(*given)


def whole(value: Any) -> bool:
    """Whether an argument is a number or a tuple of them, and nothing that is only equal to one; or
    a text.
    """
    kind = type(value)
    return kind is int or kind is str or kind is tuple and _INT.issuperset(map(type, value))


_INT = frozenset((int,))


def _conv_shape(
    n: int,
    x: Sequence[int],
    weight: Sequence[int],
    bias: Sequence[int] | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Shape:
    numbers = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": 0}
    x, weight, batched = _conv_operands(f"conv{n}d", n, x, weight, numbers, groups)
    n = len(weight) - 2
    steps, dils = per_dim(stride, n, "stride"), per_dim(dilation, n, "dilation")
    if isinstance(padding, str):
        if padding == "same" and any(s != 1 for s in steps):
            raise ShapeError("padding='same' is not supported for strided convolutions")
        reach = [d * (k - 1) for d, k in zip(dils, weight[2:])]
        total = reach if padding == "same" else [0] * n
    else:
        pads = per_dim(padding, n, "padding")
        _check_conv_numbers(padding=pads)
        total = [2 * p for p in pads]
    _check_conv_numbers(stride=steps, dilation=dils)
    _check_weight(weight, groups)
    if x[1] != weight[1] * groups:
        raise ShapeError(
            f"Given groups={groups}, weight of size {text(weight)}, expected input{text(x)} to have "
            f"{weight[1] * groups} channels, but got {x[1]} channels instead",
            dims=(-n - 1,),
            hint="the channels come right after the batch: permute the input"
            if x[-1] == weight[1] * groups
            else None,
        )
    if bias is not None and tuple(bias) != (weight[0],):
        raise ShapeError(
            f"Given weight of size {text(weight)}, expected bias to be 1-dimensional with {weight[0]} elements, "
            f"but got bias of size {text(bias)} instead"
        )
    padded = [size + t for size, t in zip(x[2:], total)]
    spread = [d * (k - 1) + 1 for d, k in zip(dils, weight[2:])]
    if any(p < k for p, k in zip(padded, spread)):
        raise ShapeError(
            f"Calculated padded input size per channel: ({by(padded)}). Kernel size: ({by(spread)}). "
            "Kernel size can't be greater than actual input size"
        )
    if 0 in weight[2:]:
        kernel = weight[2:]
        shown = (
            f": {by(kernel)} (TxHxW)" if n == 3 else " " + labelled("kernel_", plane(kernel), NAMES)
        )
        raise ShapeError(f"kernel size should be greater than zero, but got{shown}")
    _check_not_empty(x)
    out = tuple((p - k) // s + 1 for p, k, s in zip(padded, spread, steps))
    return (x[0], weight[0], *out) if batched else (weight[0], *out)


_known_conv_shape = functools.lru_cache(2048)(_conv_shape)


def conv_transpose_shape(
    n: int,
    x: Sequence[int],
    weight: Sequence[int],
    bias: Sequence[int] | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
    narrow: bool = True,
) -> Shape:
    """The shape of a transposed convolution of `x` with `weight`
    `(in_channels, out_channels / groups, *kernel)`. `narrow` numbers have at most four bytes.

    Each output size is `(size - 1) stride - 2 padding + dilation (kernel - 1) + output_padding +
    1`.

    Raises:
        RuntimeError: channels, bias or a parameter do not fit, or nothing would be left.

    Example:
        >>> conv_transpose_shape(2, (8, 16, 14, 14), (16, 3, 5, 5), stride=2, output_padding=1)
        (8, 3, 32, 32)
    """
    numbers = {"stride": stride, "padding": padding}
    numbers |= {"dilation": dilation, "output_padding": output_padding}
    x, weight, batched = _conv_operands(f"conv_transpose{n}d", n, x, weight, numbers, groups)
    n = len(weight) - 2
    steps, dils = per_dim(stride, n, "stride"), per_dim(dilation, n, "dilation")
    pads, extra = per_dim(padding, n, "padding"), per_dim(output_padding, n, "output_padding")
    _check_conv_numbers(padding=pads, output_padding=extra, stride=steps, dilation=dils)
    _check_weight(weight, groups)
    if x[1] != weight[0]:
        raise ShapeError(
            f"Given transposed=1, weight of size {text(weight)}, expected input{text(x)} to have {weight[0]} "
            f"channels, but got {x[1]} channels instead",
            dims=(-n - 1,),
        )
    channels = weight[1] * groups
    if bias is not None and tuple(bias) != (channels,):
        raise ShapeError(
            f"Given transposed=1, weight of size {text(weight)}, expected bias to be 1-dimensional with {channels} "
            f"elements, but got bias of size {text(bias)} instead"
        )
    if 0 in weight[2:]:
        shown = labelled("kernel_", plane(weight[2:]), NAMES)
        raise ShapeError(f"kernel size should be greater than zero, but got {shown}")
    _check_not_empty(x)
    if any(e >= s and e >= d for e, s, d in zip(extra, steps, dils)):
        extras = labelled("output_padding_", plane(extra, 0), NAMES)
        others = (
            labelled("stride_", plane(steps), NAMES)
            + " "
            + labelled("dilation_", plane(dils), NAMES)
        )
        raise ShapeError(
            f"output padding must be smaller than either stride or dilation, but got {extras} {others}"
        )
    out = tuple(
        (size - 1) * s - 2 * p + d * (k - 1) + e + 1
        for size, k, s, p, e, d in zip(x[2:], weight[2:], steps, pads, extra, dils)
    )
    # as in PyTorch, which computes single images and wide numbers in another way
    least = 1 if x[0] == 1 or (x[0] and not narrow) else 0
    if any(size < least for size in out):
        raise ShapeError(
            f"Given input size per channel: ({by(plane(x[2:]))}). Calculated output size per channel: ({by(plane(out))}). "
            "Output size is too small"
        )
    return (x[0], channels, *out) if batched else (channels, *out)


def same_padding(kernel: Sequence[int], dilation: Sizes = 1) -> tuple[tuple[int, int], ...]:
    """(before, after) for each dimension of `padding="same"`: an odd total leaves the larger half
    after.

    Example:
        >>> same_padding((3, 4))
        ((1, 1), (1, 2))
    """
    total = [d * (k - 1) for d, k in zip(per_dim(dilation, len(kernel), "dilation"), kernel)]
    return tuple((t // 2, t - t // 2) for t in total)


def _conv_operands(
    name: str,
    n: int,
    x: Sequence[int],
    weight: Sequence[int],
    numbers: dict[str, Any],
    groups: int,
) -> tuple[Shape, Shape, bool]:
    if len(x) not in (n + 1, n + 2):
        raise ShapeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {text(x)}"
        )
    padding = numbers["padding"]
    if isinstance(padding, str) and padding not in ("same", "valid"):
        raise ShapeError(f"Invalid padding string: '{padding}'")
    if len(weight) < 3:
        raise ShapeError(
            "weight should have at least three dimensions", found=f"weight of shape {text(weight)}"
        )
    _check_conv_numbers(groups=groups)
    batched = len(x) == n + 2
    x = tuple(x) if batched else (1, *x)
    if len(weight) != n + 2:
        raise _other_dimensions(name, n, x, weight, numbers)
    return x, tuple(weight), batched


def _other_dimensions(
    name: str, n: int, x: Shape, weight: Sequence[int], numbers: dict[str, Any]
) -> Exception:
    """The error for a weight of another number of dimensions: PyTorch meets it where a list of `n`
    numbers does not fit the weight, or else at the input.
    """
    wanted, same = len(weight) - 2, numbers["padding"] == "same"
    sentence = (
        f"Expected {wanted + 2}-dimensional input for {wanted + 2}-dimensional weight{'' if same else ' '}{text(weight)}, "
        f"but got {n + 2}-dimensional input of size {text(x)} instead"
    )
    for label, value in () if same else numbers.items():
        value = 0 if isinstance(value, str) else value
        values = tuple(value) if isinstance(value, Iterable) else (value,) * n
        if len(values) not in (1, wanted):
            sentence = (
                f"expected {label} to be a single integer value or a list of {wanted} values to match the "
                f"convolution dimensions, but got {label}={text(values)}"
            )
            break
    return ShapeError(
        sentence,
        expected=f"a weight of {n + 2} dimensions for {name}",
        found=f"a weight of shape {text(weight)}",
    )


def _check_conv_numbers(**numbers: Shape | int) -> None:
    for name, value in numbers.items():
        values = (value,) if isinstance(value, int) else value
        if name.endswith("padding"):
            if any(v < 0 for v in values):
                raise ShapeError(
                    f"negative {name} is not supported", found=f"{name}={text(values)}"
                )
        elif any(v < 1 for v in values):
            if name == "dilation":
                raise ShapeError(
                    "dilation should be greater than zero"
                    + (f", but got {text(plane(values))}" if min(values) == 0 else "")
                )
            raise ShapeError(f"non-positive {name} is not supported", found=f"{name}={value}")


def _check_weight(weight: Shape, groups: int) -> None:
    if weight[0] < groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{text(weight)} instead"
        )
    if weight[0] % groups:
        raise ShapeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{text(weight)}] instead"
        )


def _check_not_empty(x: Shape) -> None:
    if 0 in x[2:]:
        seen = (*x[:2], *plane(x[2:]))
        raise ShapeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {text(seen)}"
        )
