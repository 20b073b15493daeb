"""Shape arithmetic of convolution and pooling, in any number of spatial dimensions.

Arrays are ``(N, C, *spatial)`` and weights ``(O, C // groups, *kernel)``. Everything here is pure
Python on tuples and is shared by the NumPy implementation and the generated kernels, so that they
agree on every size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

IntOrSeq = int | Sequence[int]
Pads = tuple[tuple[int, int], ...]


def per_dim(value: IntOrSeq, dims: int, name: str) -> tuple[int, ...]:
    """Return ``value`` as a tuple of ``dims`` integers. An integer, or a sequence of one, stands
    for every dimension.

    >>> per_dim(2, 3, "stride")
    (2, 2, 2)
    """
    if isinstance(value, int):
        return (value,) * dims
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {dims} values, but got {values}"
        )
    return values


def pad_pairs(padding: int | Sequence[int | Sequence[int]], dims: int) -> Pads:
    """Return ``padding`` as one ``(before, after)`` pair per dimension. A plain integer means the
    same on both sides.

    >>> pad_pairs((1, (0, 2)), 2)
    ((1, 1), (0, 2))
    """
    if isinstance(padding, int):
        return ((padding, padding),) * dims
    items = tuple(padding)
    if len(items) == 1:
        items = items * dims
    if len(items) != dims:
        raise RuntimeError(
            f"expected padding to be a single integer value or a list of {dims} values, but got {items}"
        )
    pairs = []
    for item in items:
        before, after = (item, item) if not isinstance(item, Sequence) else item
        pairs.append((int(before), int(after)))
    return tuple(pairs)


def conv_output_size(
    size: int, kernel: int, stride: int, pads: tuple[int, int], dilation: int
) -> int:
    """Return the number of positions of a window of ``kernel`` taps along one padded dimension.

    >>> conv_output_size(28, 3, 1, (0, 0), 1)
    26
    """
    return (size + pads[0] + pads[1] - dilation * (kernel - 1) - 1) // stride + 1


def pool_output_size(
    size: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool
) -> int:
    """Return the output length of a pooling. With ``ceil_mode`` the last window may extend beyond
    the end, but must start inside.

    >>> pool_output_size(5, 2, 2, 0, 1, False), pool_output_size(5, 2, 2, 0, 1, True)
    (2, 3)
    """
    span = size + 2 * pad - dilation * (kernel - 1) - 1
    out = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (out - 1) * stride >= size + pad:
        out -= 1
    return out


# The size in bytes of LLVM types.
ITEMSIZE = {"float": 4, "double": 8}


@dataclass(frozen=True)
class ConvGeometry:
    """The sizes of one convolution, each per spatial dimension except the channel counts.

    ``x`` is the input, ``k`` the kernel, ``out`` the output; ``groups`` splits ``c`` inputs and
    ``o`` outputs. ``real`` is the LLVM type of the numbers.
    """

    n: int
    c: int
    o: int
    groups: int
    x: tuple[int, ...]
    k: tuple[int, ...]
    out: tuple[int, ...]
    stride: tuple[int, ...]
    pads: Pads
    dilation: tuple[int, ...]
    real: str = "float"

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return ITEMSIZE[self.real]

    @property
    def c_group(self) -> int:
        """Input channels of a group."""
        return self.c // self.groups

    @property
    def o_group(self) -> int:
        """Output channels of a group."""
        return self.o // self.groups

    @property
    def taps(self) -> int:
        """Number of positions of the kernel."""
        return prod(self.k)

    @property
    def x_shape(self) -> tuple[int, ...]:
        """Shape of the input, `(N, C, *spatial)`."""
        return (self.n, self.c, *self.x)

    @property
    def w_shape(self) -> tuple[int, ...]:
        """Shape of the weight, `(O, C / groups, *kernel)`."""
        return (self.o, self.c_group, *self.k)

    @property
    def out_shape(self) -> tuple[int, ...]:
        """Shape of the result, `(N, channels, *spatial)`."""
        return (self.n, self.o, *self.out)

    @property
    def multiply_adds(self) -> int:
        """Number of multiply-adds of the forward pass."""
        return self.n * self.o * self.c_group * self.taps * prod(self.out)


@lru_cache(maxsize=1024)
def _geometry(
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    stride: tuple[int, ...],
    pads: Pads,
    dilation: tuple[int, ...],
    groups: int,
) -> ConvGeometry:
    dims = len(x_shape) - 2
    if dims < 1 or len(w_shape) != dims + 2:
        raise RuntimeError(
            f"Expected input and weight of the same number of dimensions (3 or more), but got {x_shape} and {w_shape}"
        )
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    if any(s < 1 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d < 1 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    c, o = x_shape[1], w_shape[0]
    if w_shape[1] * groups != c:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w_shape)}, expected input{list(x_shape)} to have "
            f"{w_shape[1] * groups} channels, but got {c} channels instead"
        )
    if o % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(w_shape)} instead"
        )
    x, k = x_shape[2:], w_shape[2:]
    out = tuple(
        conv_output_size(*sizes) for sizes in zip(x, k, stride, pads, dilation, strict=True)
    )
    if any(size < 1 for size in out):
        padded = " x ".join(str(s + p[0] + p[1]) for s, p in zip(x, pads, strict=True))
        kernel = " x ".join(str(d * (s - 1) + 1) for s, d in zip(k, dilation, strict=True))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({padded}). Kernel size: ({kernel}). "
            "Kernel size can't be greater than actual input size"
        )
    return ConvGeometry(x_shape[0], c, o, groups, x, k, out, stride, pads, dilation)


def conv_geometry(
    x_shape: Sequence[int],
    w_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: int | Sequence[int | Sequence[int]] = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> ConvGeometry:
    """Return the sizes of a convolution of ``x_shape`` with ``w_shape``. Raises RuntimeError if the
    shapes do not match.

    >>> conv_geometry((2, 3, 8, 8), (4, 3, 3, 3), stride=2, padding=1).out_shape
    (2, 4, 4, 4)
    """
    dims = len(x_shape) - 2
    return _geometry(
        tuple(x_shape),
        tuple(w_shape),
        per_dim(stride, dims, "stride"),
        pad_pairs(padding, dims),
        per_dim(dilation, dims, "dilation"),
        int(groups),
    )


def input_grad_geometry(
    g_shape: Sequence[int],
    w_shape: Sequence[int],
    x_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: int | Sequence[int | Sequence[int]] = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> ConvGeometry:
    """Return the sizes for the gradient of an input of shape ``x_shape``, given the output's
    gradient of shape ``g_shape``.

    Transposed convolution allows an output padding up to the dilation, even if that leaves room for
    more windows than ``g_shape`` has. Those windows have no gradient.

    >>> input_grad_geometry((1, 1, 5), (1, 1, 2), (1, 1, 8), 1, 0, 2).out_shape
    (1, 1, 5)
    """
    geo = conv_geometry(x_shape, w_shape, stride, padding, dilation, groups)
    if tuple(g_shape) == geo.out_shape:
        return geo
    missing = [out - g for out, g in zip(geo.out, g_shape[2:])]
    allowed = [(max(s, d) - 1) // s for s, d in zip(geo.stride, geo.dilation, strict=True)]
    if tuple(g_shape[:2]) != geo.out_shape[:2] or len(g_shape) != len(geo.out_shape):
        allowed = [-1] * len(allowed)
    if any(not 0 <= m <= most for m, most in zip(missing, allowed)):
        raise RuntimeError(
            f"Expected grad_output of shape {list(geo.out_shape)}, but got {list(g_shape)}"
        )
    pads = tuple((a, b - m * s) for (a, b), m, s in zip(geo.pads, missing, geo.stride, strict=True))
    return conv_geometry(x_shape, w_shape, geo.stride, pads, geo.dilation, groups)


def transposed_input_shape(
    g_shape: Sequence[int],
    w_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: IntOrSeq = 0,
    output_padding: IntOrSeq = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> tuple[int, ...]:
    """Return the ``x_shape`` with which ``conv_input_grad`` is a transposed convolution of
    ``g_shape``.

    ``w_shape`` is PyTorch's layout for transposed convolution, ``(in, out // groups, *kernel)``,
    which is the layout of the forward convolution whose gradient it is.

    >>> transposed_input_shape((1, 8, 4, 4), (8, 3, 2, 2), stride=2)
    (1, 3, 8, 8)
    """
    dims = len(g_shape) - 2
    stride, dilation = per_dim(stride, dims, "stride"), per_dim(dilation, dims, "dilation")
    extra = per_dim(output_padding, dims, "output_padding")
    pads = pad_pairs(padding, dims)
    for extra_d, stride_d, dilation_d in zip(extra, stride, dilation, strict=True):
        if extra_d >= max(stride_d, dilation_d):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got output_padding: "
                f"{list(extra)} stride: {list(stride)} dilation: {list(dilation)}"
            )
    sizes = []
    for i in range(dims):
        span = (g_shape[2 + i] - 1) * stride[i] + dilation[i] * (w_shape[2 + i] - 1) + 1
        sizes.append(span - pads[i][0] - pads[i][1] + extra[i])
    return (g_shape[0], w_shape[1] * groups, *sizes)


def first_places(
    x: Sequence[int],
    out: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    dilation: Sequence[int],
) -> list[np.ndarray]:
    """Return the position where each window begins, for each dimension. That is the position
    reported as the maximum of a window that has only the lowest value in it.

    Windows without any input element have a position, too. If PyTorch would report one outside of
    the plane, the nearest one inside is returned.
    """
    found = []
    for count, step, before, apart in zip(out, stride, pad, dilation, strict=True):
        start = np.arange(count, dtype=np.int64) * step - before
        found.append(np.where(start < 0, start + -(start // apart) * apart, start))
    last = 0
    for places, size in zip(found, x, strict=True):
        last = last * size + int(places.max(initial=0))
    if last < prod(x):
        return found
    return [np.clip(places, 0, size - 1) for places, size in zip(found, x, strict=True)]


@dataclass(frozen=True)
class PoolGeometry:
    """The sizes of one pooling."""

    x_shape: tuple[int, ...]
    k: tuple[int, ...]
    stride: tuple[int, ...]
    pad: tuple[int, ...]
    dilation: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def x(self) -> tuple[int, ...]:
        """Spatial sizes of the input."""
        return self.x_shape[2:]

    @property
    def out_shape(self) -> tuple[int, ...]:
        """Shape of the result, `(N, channels, *spatial)`."""
        return (*self.x_shape[:2], *self.out)

    @property
    def padded(self) -> tuple[int, ...]:
        """Spatial sizes of the input with its padding, extended as far as the last ceil-mode window
        reaches.
        """
        sizes = zip(self.x, self.pad, self.out, self.stride, self.dilation, self.k, strict=True)
        return tuple(
            max(x + p, (out - 1) * s + d * (k - 1) + 1 - p) + p for x, p, out, s, d, k in sizes
        )

    def divisors(self, count_include_pad: bool, divisor_override: int | None) -> np.ndarray:
        """Return the divisor of each window's sum, as an array of shape ``out``."""
        if divisor_override is not None:
            if divisor_override == 0:
                raise RuntimeError("divisor must be not zero")
            return np.full(self.out, divisor_override)
        total = np.ones((1,) * len(self.x), np.int64)
        for d, size in enumerate(self.x):
            start = np.arange(self.out[d]) * self.stride[d] - self.pad[d]
            stop = np.minimum(start + self.k[d], size + self.pad[d])
            if not count_include_pad:
                start, stop = np.maximum(start, 0), np.minimum(stop, size)
            shape = [1] * len(self.x)
            shape[d] = -1
            total = total * (stop - start).reshape(shape)
        return total


@lru_cache(maxsize=1024)
def _pool_geometry(
    x_shape: tuple[int, ...],
    k: tuple[int, ...],
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> PoolGeometry:
    for name, values in (("kernel size", k), ("stride", stride), ("dilation", dilation)):
        if any(v < 1 for v in values):
            raise RuntimeError(f"{name} should be greater than zero, but got {list(values)}")
    for p, size, step in zip(pad, k, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((size - 1) * step + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={size} and dilation={step}"
            )
    out = tuple(
        pool_output_size(*sizes, ceil_mode)
        for sizes in zip(x_shape[2:], k, stride, pad, dilation, strict=True)
    )
    if any(size < 1 for size in out):
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, x_shape[1:]))}). Calculated output size: "
            f"({'x'.join(map(str, (x_shape[1], *out)))}). Output size is too small"
        )
    return PoolGeometry(x_shape, k, stride, pad, dilation, out)


def pool_geometry(
    x_shape: Sequence[int],
    kernel_size: IntOrSeq,
    stride: IntOrSeq | None = None,
    padding: IntOrSeq = 0,
    dilation: IntOrSeq = 1,
    ceil_mode: bool = False,
) -> PoolGeometry:
    """Return the sizes of a pooling of ``x_shape`` (N, C, *spatial). ``stride`` defaults to
    ``kernel_size``.

    >>> pool_geometry((1, 2, 5, 5), 2, ceil_mode=True).out_shape
    (1, 2, 3, 3)
    """
    dims = len(x_shape) - 2
    k = per_dim(kernel_size, dims, "kernel_size")
    return _pool_geometry(
        tuple(x_shape),
        k,
        k if stride is None or stride == () or stride == [] else per_dim(stride, dims, "stride"),
        per_dim(padding, dims, "padding"),
        per_dim(dilation, dims, "dilation"),
        bool(ceil_mode),
    )


def adaptive_windows(size: int, out: int) -> list[tuple[int, int]]:
    """Return ``(start, stop)`` of the ``out`` windows that cover ``size`` positions as evenly as
    possible.

    >>> adaptive_windows(5, 3)
    [(0, 2), (1, 4), (3, 5)]
    """
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def even_windows(x_shape: Sequence[int], output_size: IntOrSeq) -> tuple[int, ...] | None:
    """Return the window of an adaptive pooling whose windows neither overlap nor differ in size;
    None if they do.

    >>> even_windows((1, 1, 6, 4), (3, 1)), even_windows((1, 1, 5), 2)
    ((2, 4), None)
    """
    sizes = per_dim(output_size, len(x_shape) - 2, "output_size")
    if any(out < 1 or size < 1 or size % out for size, out in zip(x_shape[2:], sizes, strict=True)):
        return None
    return tuple(size // out for size, out in zip(x_shape[2:], sizes, strict=True))
