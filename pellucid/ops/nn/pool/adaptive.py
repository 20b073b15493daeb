"""Pooling to a given size: adaptive_avg_pool and adaptive_max_pool."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np

from .... import dtypes, shapes
from ....arrays import numpy_cpu
from ....arrays.halves import HALVES, in_float32
from ....core import tracing
from ....core.bind import wrap
from ....core.display.packing import given
from ....core.primitive import defop
from ....core.public import public
from ....core.tape import reads_later
from ....core.tensor import Tensor
from ....errors import ArgumentTypeError, OperationError, ShapeError, out_of_memory, type_name
from ..._few import Few
from ..._format import in_format, in_rows
from ..._rules import full_precision, require_tensor
from ..._samples import cases
from ._window import Shown, batch_images, batched, check_dtype, unbatched


def _adaptive_steps(c: Any) -> tuple[list[int], tuple[int, ...], bool]:
    """Return output sizes, input sizes, and whether all windows have the same size."""
    wanted = [int(n) for n in c.fixed(c.out_shape[2:])]
    sizes = c.fixed(c.shape()[2:])
    return wanted, sizes, all(n % m == 0 for n, m in zip(sizes, wanted, strict=True))


def _onnx_adaptive(c: Any, word: str) -> Any:
    if all(n == 1 for n in c.out_shape[2:]):
        return c.emit(f"Global{word}Pool", c[0])
    wanted, sizes, even = _adaptive_steps(c)
    if even:
        kernel = [n // m for n, m in zip(sizes, wanted, strict=True)]
        return c.emit(f"{word}Pool", c[0], kernel_shape=kernel, strides=kernel)
    if word == "Max" or len(wanted) > 2:
        raise c.refuse(f"from {list(sizes)} to {wanted}, which is not a multiple")
    out = c[0]
    for k, (n, m) in enumerate(zip(sizes, wanted, strict=True)):
        matrix = np.zeros((m, n), c.dtype)
        for row in range(m):
            start, end = row * n // m, -((-(row + 1) * n) // m)
            matrix[row, start:end] = 1 / (end - start)
        last = k == len(wanted) - 1
        out = (
            c.emit("MatMul", out, c.const(matrix.T.copy()))
            if last
            else c.emit("MatMul", c.const(matrix), out)
        )
    return out


def _check_empty(kind: str, g: Any) -> None:
    """Refuse the gradient of an adaptive pool without windows."""
    shape = tuple(g.shape)
    if 0 not in shape[2:]:
        return
    n = max(2, len(shape) - 2)
    if len(shape) == 3:  # one dimension is reported as a plane with a height of 1
        shape = (*shape[:2], 1, shape[2])
    raise ShapeError(
        f"adaptive_{kind}_pool{n}d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output "
        f"has sizes {list(shape)} with dimension {shape.index(0, 2)} being empty"
    )


def _adaptive_max_back(F: Any, g: Any, aux: Any, input_shape: tuple[int, ...]) -> Any:
    _check_empty("max", g)
    return F.max_pool_grad(g, index=aux, x_shape=input_shape)


def _adaptive_avg_back(F: Any, g: Any, input_shape: tuple[int, ...]) -> Any:
    _check_empty("avg", g)
    return F.adaptive_avg_pool_grad(g, x_shape=input_shape)


adaptive_max_op = defop(
    "adaptive_max_pool",
    "input",
    forward=lambda xp, x, *, output_size: xp.adaptive_max_pool(x, output_size),
    aux=True,
    vjp={"input": _adaptive_max_back},
    jvp=lambda F, tangents, aux: F.pool_gather(tangents[0], index=aux),
    grad_name="AdaptiveMaxPool",
    variant=(shown := Shown("AdaptiveMaxPool")),
    nodes=shown.nodes,
    packs="input aux",
    linked="input",
    batch=batch_images,
    traits="passes",
    onnx=lambda c: _onnx_adaptive(c, "Max"),
    samples=cases(
        (((2, 2, 5, 6),), {"output_size": (2, 3)}), (((1, 2, 7),), {"output_size": (3,)})
    ),
)


_MANY = 1 << 12  # from this many elements on, the mean of everything is a reduction


def _adaptive_means(xp: Any, x: Any, *, output_size: Any) -> Any:
    if not x.size:
        return xp.zeros((*x.shape[:2], *output_size), x.dtype)
    if math.prod(output_size) == 1 and x.size >= _MANY and x.dtype.kind in "fV":
        return xp.mean(x, tuple(range(2, x.ndim)), keepdims=True)
    if x.dtype in HALVES:
        return in_float32(_adaptive_means, xp, x, output_size=output_size)
    return xp.adaptive_avg_pool(x, output_size)


adaptive_avg_op = defop(
    "adaptive_avg_pool",
    "input",
    forward=_adaptive_means,
    vjp={"input": _adaptive_avg_back},
    jvp="linear",
    grad_name="AdaptiveAvgPool",
    variant=(shown := Shown("AdaptiveAvgPool")),
    nodes=shown.nodes,
    packs="input",
    linked="input",
    batch=batch_images,
    traits="passes",
    onnx=lambda c: _onnx_adaptive(c, "Average"),
    samples=cases(
        (((2, 2, 5, 6),), {"output_size": (2, 3)}), (((1, 2, 7),), {"output_size": (3,)})
    ),
)

adaptive_avg_grad = defop(
    "adaptive_avg_pool_grad",
    "grad",
    forward=lambda xp, g, *, x_shape: xp.adaptive_avg_pool_grad(g, x_shape),
    aval=lambda g, x_shape: (tuple(x_shape), g[1]),
    vjp={
        "grad": lambda F, g, grad_shape: F.adaptive_avg_pool(g, output_size=tuple(grad_shape[2:]))
    },
    jvp="linear",
    grad_name="AdaptiveAvgPool2DBackward",
    samples=cases(
        (((2, 2, 2, 3),), {"x_shape": (2, 2, 5, 6)}), (((1, 2, 3),), {"x_shape": (1, 2, 7)})
    ),
)


def _adaptive(
    name: str, n: int, input: Tensor, output_size: Any
) -> tuple[Tensor, int, tuple[int, ...]]:
    x = require_tensor(input, name)
    listed = isinstance(output_size, (tuple, list))
    first = (output_size[0] if len(output_size) else 0) if listed else output_size
    if type(first) is not int and not (listed and isinstance(first, (np.integer, NoneType))):
        output_size = _sizes_asked_for(name, n, x, output_size)
    # results for plain whole numbers are cached
    plain = (
        type(output_size) is int
        or type(output_size) is tuple
        and set(map(type, output_size)) == {int}
    )
    shape_of = (
        _known_shape if plain and type(x._array) is np.ndarray else shapes.adaptive_pool_shape
    )
    shape = shape_of(name, x._array.shape, output_size)
    check_dtype(x, f"{name}_cpu" if n == 3 else f"{name[:-2]}2d")
    check_fits(name, shape, x._array.dtype.itemsize)
    x, lead = batched(x, n)
    return x, lead, tuple(shape[-n:])


_known_shape = functools.lru_cache(1024)(shapes.adaptive_pool_shape)
_LARGE = 1 << 34


def check_fits(name: str, shape: Sequence[int], itemsize: int) -> None:
    """Refuse a result that no memory holds before the work on its windows begins."""
    size = math.prod(shape)
    if max(shape, default=0) >= 1 << 63:
        raise ArgumentTypeError(
            f"{name}(): argument 'output_size' failed to unpack the object at pos 1 with error "
            '"Overflow when unpacking long long'
        )
    if size * itemsize < _LARGE:
        return
    if size * itemsize >= 1 << 63:
        raise OperationError("numel: integer multiplication overflow")
    try:
        np.empty(size * itemsize, np.uint8)
    except MemoryError as error:
        raise out_of_memory(error) from None


def _means_refused(n: int, x: Tensor, output_size: Any) -> bool:
    """Return whether the refusal of integer means comes before all other checks."""
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return False
    return 1 < x.ndim < 4 if n == 1 else not shapes.dims.listed(output_size) or x.ndim > n


def _is_whole(value: Any) -> bool:
    """Return whether PyTorch accepts a value as a whole number."""
    if isinstance(value, Tensor):
        own = value.dtype
        return not (value.ndim or own is dtypes.bool_ or value.requires_grad) and own.is_integral
    return hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_))


def _sizes_asked_for(name: str, n: int, x: Tensor, output_size: Any) -> Any:
    """Return the sizes as PyTorch's Python code passes them on, and refuse what it refuses."""
    if n > 1 and not isinstance(output_size, int):
        if len(x.shape) <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        kept = x.shape[-len(output_size) :]
        output_size = [k if s is None else s for s, k in zip(output_size, kept, strict=True)]
    found: Any = output_size
    listed = isinstance(output_size, (tuple, list))
    if listed:
        found = found[0]
    if not _is_whole(found):
        kind = type_name(found)
        what = f"but found element of type {kind} at pos 0" if listed else f"not {kind}"
        raise ArgumentTypeError(
            f"{name}(): argument 'output_size' (position 2) must be tuple of ints, {what}"
        )
    return output_size


_KNOWN = {n: Few(_MANY - 1) for n in (1, 2, 3)}


def _adaptive_avg(n: int, input: Tensor, output_size: Any) -> Tensor:
    few = _KNOWN[n]
    plain = type(output_size) is int
    if plain and (made := few.made(input, output_size)) is not None:
        return made
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
    whole = {*map(type, sizes)} == {int} and tuple(sizes) == (1,) * n
    if (
        whole
        and isinstance(input, Tensor)
        and (
            n < input._array.ndim < n + 3
            and 0 in input._array.shape[-n:]
            or _means_refused(n, input, output_size)
        )
    ):
        # the mean of nothing is NaN, although other sizes are refused; `mean` refuses whole numbers
        return input.mean(dim=tuple(range(-n, 0)), keepdim=True)
    x, lead, size = _adaptive(f"adaptive_avg_pool{n}d", n, input, output_size)
    with given(unbatched=lead == 1):
        out = adaptive_avg_op.call(x, output_size=size)
    out = in_format(out, x) if n < 3 else in_rows(out)
    if plain and lead == 2:
        means = functools.partial(_adaptive_means, numpy_cpu, output_size=size)
        few.remember(input, (output_size,), lambda a: a.flags.c_contiguous and means, out)
    return unbatched(out, lead, input)


def _adaptive_max(n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    x, lead, size = _adaptive(f"adaptive_max_pool{n}d", n, input, output_size)
    with given(unbatched=lead == 1):
        out = adaptive_max_op.call(x, output_size=size)
    out = in_format(out, x) if n < 3 else out
    if not return_indices:
        return unbatched(out, lead, input)
    places = wrap(tracing.effect(_adaptive_maxima, x._array, size))
    places = in_format(places, x) if n < 3 else places
    made = unbatched(reads_later(out, places), lead, input)
    return made, unbatched(places, lead)


def _adaptive_maxima(x: Any, size: tuple[int, ...]) -> Any:
    return adaptive_max_op.numpy_forward(x, output_size=size)[1]


@public(namespace="nn.functional torch")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, L)` or `(C, L)`.
        output_size: size of the result: a number.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
    tensor([[[1.5000, 3.5000]]])
    """
    return _adaptive_avg(1, input, output_size)


@public(namespace="nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 3, 5, 7), (2, None)).shape
    torch.Size([1, 3, 2, 7])
    """
    return _adaptive_avg(2, input, output_size)


@public(namespace="nn.functional")
@full_precision
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 3, 5, 5, 5), 2).shape
    torch.Size([1, 3, 2, 2, 2])
    """
    return _adaptive_avg(3, input, output_size)


@public(namespace="nn.functional")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, L)` or `(C, L)`.
        output_size: size of the result: a number.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.ones(1, 3, 5), 2).shape
    torch.Size([1, 3, 2])
    """
    return _adaptive_max(1, input, output_size, return_indices)


@public(namespace="nn.functional")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool2d(torch.ones(1, 3, 5, 5), 2).shape
    torch.Size([1, 3, 2, 2])
    """
    return _adaptive_max(2, input, output_size, return_indices)


@public(namespace="nn.functional")
@full_precision
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows that divide the input evenly, chosen so that the result has a given size.

    Window i of a dimension runs from floor(i size / output_size) to ceil((i + 1) size /
    output_size).

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        output_size: size of the result: a number for all dimensions, or a tuple in which None keeps
            a size.
        return_indices: also return where the maxima are, in the flattened spatial dimensions.
            Default: False.

    >>> import pellucid as torch
    >>> torch.nn.functional.adaptive_max_pool3d(torch.ones(1, 3, 5, 5, 5), 2).shape
    torch.Size([1, 3, 2, 2, 2])
    """
    return _adaptive_max(3, input, output_size, return_indices)


def _adaptive_indices(n: int) -> Any:
    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return _adaptive_max(n, input, output_size, True)

    function.__name__ = f"adaptive_max_pool{n}d_with_indices"
    size = ", 5" * n
    function.__doc__ = (
        f"`adaptive_max_pool{n}d` with the positions of the maxima.\n\n"
        ">>> import pellucid as torch\n>>> pool = torch.nn.functional."
        f"{function.__name__}\n>>> values, places = pool(torch.zeros(3{size}), 2)\n"
        f">>> places.shape\ntorch.Size({[3] + [2] * n})\n"
    )
    return function


for _n in (1, 2, 3):
    public(namespace="nn.functional")(_adaptive_indices(_n))
