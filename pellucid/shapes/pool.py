"""Output shapes of pooling.

Inputs are `(batch, channels, *spatial)`, or `(channels, *spatial)` for one sample without a batch
dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import Any

from ..errors import ArgumentValueError, DimensionError, OperationError, ShapeError
from .dims import Shape, listed, numbers, text
from .spatial import Sizes, labelled, plane


def pool_output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows fit into one dimension; with `ceil_mode` one more may hang over the end, if
    it starts before it.

    Raises:
        RuntimeError: stride 0, or padding is negative or more than half a window.

    Example:
        >>> pool_output_size(7, 2, 2, 0, 1, False), pool_output_size(7, 2, 2, 0, 1, True)
        (3, 4)
    """
    if stride == 0:
        raise ShapeError("stride should not be zero")
    if padding < 0:
        raise ShapeError(f"pad must be non-negative, but got pad: {padding}")
    spread = dilation * (kernel - 1) + 1
    if padding > int(spread / 2):
        raise ShapeError(
            f"pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel} "
            f"and dilation={dilation}"
        )
    count = (size + 2 * padding - spread + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


_MANY = {1: "one int", 2: "two ints", 3: "three ints"}


def _pool_numbers(name: str, n: int, what: str, value: Sizes) -> Shape:
    values = tuple(map(as_index, numbers(value)))
    if name != "max_pool1d" and values and not -(1 << 31) <= min(values) <= max(values) < 1 << 31:
        raise OperationError("value cannot be converted to type int without overflow")
    if len(values) == 1:
        return values * n
    if len(values) == n:
        return values
    if n == 1:
        if name == "avg_pool1d":
            raise ShapeError(
                f"avg_pool1d() argument '{what}' should contain one int (got {len(values)})"
            )
        kinds = (
            "an int, list of ints or tuple"
            if what in ("kernel_size", "dilation")
            else "an int, list of ints, or tuple"
        )
        kinds = f"None, {kinds}" if what == "stride" else kinds
        raise ShapeError(
            f"{name}() {what} must be {kinds} of ints of size 1 but got size {len(values)}"
        )
    either = "" if name == "avg_pool3d" else "either "
    must = f"must be {either}" if what == "dilation" else f"must {either}be "
    omitted = "omitted, " if what == "stride" else ""
    raise ShapeError(f"{name}: {what} {must}{omitted}a single int, or a tuple of {_MANY[n]}")


def pool_shape(
    name: str,
    x: Sequence[int],
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    indices: bool = False,
) -> Shape:
    """The shape of `max_pool1d` ... `avg_pool3d` (the name says how many spatial dimensions), with
    or without `indices`.

    Raises:
        RuntimeError: the window does not fit, or the input has a wrong number of dimensions.

    Example:
        >>> pool_shape("max_pool2d", (8, 3, 32, 32), 2)
        (8, 3, 16, 16)
    """
    n = int(name[-2])
    kernel = _pool_numbers(name, n, "kernel_size", kernel_size)
    left_out = stride is None or not numbers(stride)
    steps = kernel if left_out or stride is None else _pool_numbers(name, n, "stride", stride)
    pads = _pool_numbers(name, n, "padding", padding)
    dils = _pool_numbers(name, n, "dilation", dilation)
    if name == "max_pool1d" and not indices:  # with them it is computed, and refused, as a plane
        return _max_pool1d_shape(x, kernel[0], steps[0], pads[0], dils[0], ceil_mode)

    if n == 1 and len(x) not in (2, 3):
        raise ShapeError(
            f"Expected 2 to 3 dimensions, but got {len(x)}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
    if name == "avg_pool2d" and len(x) < 3:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-len(x)}, {len(x) - 1}], but got -3)"
        )
    if len(x) not in (n + 1, n + 2) and name != "avg_pool2d":
        raise ShapeError(f"non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input")
    # A window of one dimension is reported as PyTorch computes it, as a plane with a height of 1.
    seen = tuple(x) if n > 1 else (*x[:-1], 1, x[-1])
    axes = {
        "kernel size": ("k", kernel, 1),
        "stride": ("d", steps, 1),
        "dilation": ("dilation", dils, 1),
    }

    out = [
        pool_output_size(size, k, s, p, d, ceil_mode)
        if k > 0 and s >= 0 and d > 0
        else pool_output_size(size, max(k, 1), s and 1, 0, 1, False)
        for size, k, s, p, d in zip(x[-n:], kernel, steps, pads, dils)
    ]
    for label, (prefix, values, _) in axes.items():
        if any(v < 1 for v in values):
            raise ShapeError(
                f"{label} should be greater than zero, but got {labelled(prefix, plane(values))}"
            )
    if n == 3:
        where = (
            f"{name}()" if name.startswith("avg") else "max_pool3d_with_indices_out_cpu_template()"
        )
        if 0 in x[-4:]:
            # PyTorch says "dimension 0" whichever it is.
            raise ShapeError(
                f"{where}: Expected input's non-batch dimensions to have positive length, but input has a shape of "
                f"{text(x)} and non-batch dimension 0 has length zero!"
            )
        if name == "avg_pool3d" and any(s + 2 * p < k for s, p, k in zip(x[-3:], pads, kernel)):
            raise ShapeError(
                f"input image ({labelled('', x[-3:])}) smaller than kernel size ({labelled('k', kernel)})"
            )
    elif len(x) not in (n + 1, n + 2) or 0 in seen[-3:]:
        raise ShapeError(
            f"Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:{text(seen)}"
        )
    if any(p > k // 2 for p, k in zip(pads, kernel)):
        shown = (
            f"padW = {pads[-1]}, padH = {(0, *pads)[-2]}, kW = {kernel[-1]}, kH = {(1, *kernel)[-2]}"
            if n < 3
            else f"kT: {kernel[0]} kW: {kernel[2]} kH: {kernel[1]} padT: {pads[0]} padW: {pads[2]} padH: {pads[1]}"
        )
        raise ShapeError(
            f"pad should be smaller than or equal to half of kernel size, but got {shown}"
        )
    if any(size < 1 for size in out):
        given, made = (x[-n - 1], *plane(x[-n:])), (x[-n - 1], *plane(out))
        raise ShapeError(
            f"Given input size: ({'x'.join(map(str, given))}). Calculated output size: ({'x'.join(map(str, made))}). "
            "Output size is too small"
        )
    return (*x[:-n], *out)


def _max_pool1d_shape(
    x: Sequence[int], kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> Shape:
    if len(x) not in (2, 3) or 0 in x[-2:]:
        raise ShapeError(
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{text(x)}"
        )
    for what, value in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value < 1:
            raise ShapeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
        if what == "stride":
            if padding < 0:
                raise ShapeError(f"max_pool1d() padding must be non-negative, but got {padding}")
            if padding > kernel // 2:
                raise ShapeError(
                    f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} "
                    f"and kernel_size={kernel}"
                )
    out = pool_output_size(x[-1], kernel, stride, padding, dilation, ceil_mode)
    if out < 1:
        raise ShapeError(f"max_pool1d() Invalid computed output size: {out}")
    return (*x[:-1], out)


def adaptive_pool_shape(
    name: str, x: Sequence[int], output_size: int | Sequence[int | None]
) -> Shape:
    """The shape of `adaptive_avg_pool1d` ... `adaptive_max_pool3d`; a size of None keeps the
    input's.

    Raises:
        RuntimeError: wrong number of dimensions or sizes, a negative size, or an empty input.

    Example:
        >>> adaptive_pool_shape("adaptive_avg_pool2d", (8, 3, 32, 20), (7, None))
        (8, 3, 7, 20)
    """
    n, maximum = int(name[-2]), "max" in name
    several = listed(output_size)
    wanted: tuple[Any, ...] = numbers(output_size) * (1 if several else n)
    if n == 1 and len(x) not in (2, 3):
        raise ShapeError(
            f"Expected 2 to 3 dimensions, but got {len(x)}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
    if n == 1 and len(wanted) != 1:
        raise ShapeError(
            f"{name}() argument 'output_size' should contain one int (got {len(wanted)})"
        )
    if n > 1 and several and len(x) <= len(wanted):
        raise ArgumentValueError(f"Input dimension should be at least {len(wanted) + 1}")
    out = tuple(size if want is None else as_index(want) for size, want in zip(x[-n:], wanted))
    if not maximum:
        _check_adaptive_out(name, n, wanted, out)
    if len(x) not in (n + 1, n + 2):
        colon = ":" if maximum else ""
        raise ShapeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {text(x)}"
        )
    # The mean over one dimension is computed, and reported, as that over a plane with a height of
    # 1.
    seen, where = (
        ((*x[:-1], 1, x[-1]), "adaptive_avg_pool2d") if n == 1 and not maximum else (tuple(x), name)
    )
    # The means of one and two dimensions may have no channels.
    spatial = len(seen) - len(seen[-n:]) - (1 if maximum or n == 3 else 0)
    for d in range(max(1, spatial), len(seen)):
        if seen[d] == 0:
            raise ShapeError(
                f"{where}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{text(seen)} with dimension {d} being empty"
            )
    if maximum:
        _check_adaptive_out(name, n, wanted, out)
        if any(size < 0 for size in out):
            made = (*x[:-n], *plane(out))
            raise ShapeError(
                f"Trying to create tensor with negative dimension {next(n for n in made if n < 0)}: {text(made)}"
            )
    return (*x[:-n], *out)


def _check_adaptive_out(name: str, n: int, wanted: Sequence[object], out: Shape) -> None:
    if len(wanted) != n:
        said = (
            f"{name}: output_size must be {n}"
            if "avg" in name
            else f"{name}(): internal error: output_size.size() must be {n}"
        )
        raise ShapeError(said)
    if "avg" in name and any(size < 0 for size in out):
        shown = f"{out[0]}, {out[1]},{out[2]}" if n == 3 else ", ".join(map(str, plane(out)))
        raise ShapeError(
            f"adaptive_avg_pool{max(n, 2)}d: elements of output_size must be greater than or equal to 0 but received {{{shown}}}"
        )


def adaptive_window(position: int, size: int, out: int) -> tuple[int, int]:
    """(start, end) of the inputs of one output of adaptive pooling: `out` windows that cover `size`
    evenly.

    Example:
        >>> [adaptive_window(i, 5, 3) for i in range(3)]
        [(0, 2), (1, 4), (3, 5)]
    """
    return position * size // out, -(-(position + 1) * size // out)
