"""Discrete Fourier transforms with numpy.fft, which keeps single precision: complex to complex,
real to half-spectrum and back.

Every transform is one of three operations. A number `scale` multiplies the plain sums. Gradients
are plain sums in the opposite direction, so they need not know about normalization modes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...core.display.packing import hooked
from ...core.display.refusals import Asked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, public
from ...core.tape import named_type, titled, value_at
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.arranging import become, moved_before, node_before
from ...errors import ArgumentTypeError, DtypeError, OperationError, UnsupportedError, type_name
from ...shapes import normalize_dim
from .._rules import at_full_precision, constant, require_tensor
from .._samples import REAL, Sample, cases, draw
from ..create._factory import check_memory
from ._lines import COMPLEX, few, laid_out, order_in_memory, transformer
from ._shown import added_sizes, normalization


# ---- the three transforms ---------------------------------------------------------------------
def _written(name: str) -> str:
    """Return the rule for `out=`: complex, or real if the result is."""
    kind = "floating point" if name in ("irfft", "hfft", "irfftn", "hfftn") else "complex"
    rule = "real" if kind == "floating point" else "cast"
    if name == "ihfftn":
        rule = f"rows: {rule}"
    return f"{rule}: {name} expects a {kind} output tensor, but got {{given}}"


def _scaled(x: Any, scale: float) -> Any:
    return x if scale == 1 else x * x.real.dtype.type(scale)


def _transformed(xp: Any, x: Any, dim: tuple[int, ...], forward: bool) -> Any:
    """Transform to all frequencies. Along a single dimension the simple functions are faster, as
    NumPy spends longer on lists of dimensions than on transforming few numbers.
    """
    if len(dim) == 1:
        if forward:
            return xp.fft.fft(x, axis=dim[0])
        return xp.fft.ifft(x, axis=dim[0], norm="forward")
    return xp.fft.fftn(x, axes=dim) if forward else xp.fft.ifftn(x, axes=dim, norm="forward")


def _c2c(xp: Any, x: Any, *, dim: tuple[int, ...], forward: bool, scale: float) -> Any:
    if x.size == 0:
        return x.copy()
    made = _scaled(_transformed(xp, x, dim, forward), scale).astype(x.dtype, copy=False)
    return laid_out(made, x, dim, 0)


def _r2c(
    xp: Any, x: Any, *, dim: tuple[int, ...], forward: bool, scale: float, onesided: bool
) -> Any:
    kind = COMPLEX[x.dtype.char]
    shape = list(x.shape)
    if onesided:
        shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    if x.size == 0:
        return np.zeros(shape, kind)
    if onesided:
        made = xp.fft.rfftn(x, axes=dim)
        if not forward:
            made = made.conj()
    else:
        made = _transformed(xp, x, dim, forward)
    return laid_out(_scaled(made, scale).astype(kind, copy=False), x, dim, 1)


def _c2r(xp: Any, x: Any, *, dim: tuple[int, ...], forward: bool, scale: float, n: int) -> Any:
    shape = list(x.shape)
    shape[dim[-1]] = n
    if x.size == 0:
        return np.zeros(shape, x.real.dtype)
    if forward:
        x = x.conj()
    sizes = [shape[d] for d in dim]
    made = xp.fft.irfftn(x, s=sizes, axes=dim, norm="forward")
    made = _scaled(made, scale).astype(x.real.dtype, copy=False)
    if dim[1:] and type(made) is np.ndarray:  # the last dimension is transformed after the others
        order = order_in_memory([d for d in range(x.ndim) if d not in dim[:-1]], x)
        order = [d for d in order + order_in_memory(dim[:-1], x) if d != dim[-1]] + [dim[-1]]
        return np.ascontiguousarray(made.transpose(order)).transpose(np.argsort(order))
    return laid_out(made, x, dim, 1)


def _r2c_grad(
    F: Any, g: Any, input_shape: Any, dim: Any, forward: bool, scale: float, onesided: bool
) -> Any:
    # The missing half of the spectrum is not in the result, so its gradient is 0.
    if onesided:
        g = F.fit_sizes(
            g, shape=tuple(input_shape[d] if d == dim[-1] else n for d, n in enumerate(g.shape))
        )
    return F.real(F.fft_c2c(g, dim=dim, forward=not forward, scale=scale))


def _c2r_grad(
    F: Any, g: Any, input_shape: Any, dim: Any, forward: bool, scale: float, n: int
) -> Any:
    made = F.fft_r2c(g, dim=dim, forward=not forward, scale=scale, onesided=True)
    # Every element of the half-spectrum except the first (and the middle one of an even length)
    # stands for two elements of the whole spectrum.
    half = input_shape[dim[-1]]
    twice = np.ones(half)
    twice[1 : n - half + 1] = 2
    twice = twice.reshape([half if d == dim[-1] else 1 for d in range(len(input_shape))])
    kind = (g if F.raw else g._array).dtype
    weights = twice.astype(kind)
    return made * constant(F, weights)


# ---- the nodes of PyTorch's ----------------------------------------------------------------------
def _nodes_r2c(node: Any) -> tuple[Any, ...]:
    """Return PyTorch's nodes. For all frequencies over several dimensions, the numbers are cast to
    complex first. An inverse transform is the conjugate of the forward one.
    """
    p, x = node.params, node.inputs[0]
    if _as_complex(node):
        x = node_before(node, "cast", x, value_at(x)[0], 0.125, dtype=node.dtype)
        how = {"dim": p["dim"], "forward": p["forward"], "scale": p["scale"]}
        become(node, "fft_c2c", (x,), node.shape, node.dtype, **how)
    elif not p["forward"] and type(node) is not _PLAIN:
        title = type(node)
        inner = moved_before(node)
        inner.params = {**p, "forward": True}
        inner.__class__ = _PLAIN
        become(node, "conj", (inner,), node.shape, node.dtype)
        if title is _PHYSICAL:
            node.__class__ = title
        return (inner,)
    return (node,)


def _nodes_c2r(node: Any) -> tuple[Any, ...]:
    """Return PyTorch's nodes. A forward transform is the inverse one of the conjugate. A transform
    over several dimensions handles all but the last one first.
    """
    p = dict(node.params)
    (x,), (*others, last) = node.inputs, p["dim"]
    shape, kind = value_at(x)
    if p["forward"]:
        if others:
            how = {"dim": tuple(others), "forward": True, "scale": 1.0}
            x = node_before(node, "fft_c2c", x, shape, 0.25, **how)
        x = node_before(node, "conj", x, shape, 0.125)
        p.update(dim=(last,), forward=False)
        become(node, "fft_c2r", (x,), node.shape, node.dtype, **p)
    return (node,)


_COMPLEX = named_type("FftC2CBackward0")
_PLAIN, _PHYSICAL = named_type("FftR2CBackward0"), named_type("ConjPhysicalBackward0")


def _as_complex(node: Any) -> bool:
    """Return whether PyTorch converts the numbers to complex ones first."""
    several = len(node.params["dim"]) > 1
    return type(node) is _COMPLEX or several and not node.params["onesided"]


def _variant_r2c(node: Any) -> str:
    p = node.params
    if _as_complex(node):
        return "FftC2CBackward0"
    return "FftR2CBackward0" if p["forward"] else "ConjBackward0"


defop(
    "fft_c2c",
    "input",
    forward=_c2c,
    aval=lambda x, **params: x,
    jvp="linear",
    vjp={
        "input": lambda F, g, dim, forward, scale: F.fft_c2c(
            g, dim=dim, forward=not forward, scale=scale
        )
    },
    grad_name="FftC2C",
    batch="dims",
    autocast="float32",
    samples=lambda rng: [
        Sample((draw(rng, (3, 4), REAL, "complex"),), {"dim": dim, "forward": way, "scale": 0.5})
        for dim in ((1,), (0, 1))
        for way in (True, False)
    ],
    shows={"normalization": normalization},
)
defop(
    "fft_r2c",
    "input",
    forward=_r2c,
    jvp="linear",
    vjp={"input": _r2c_grad},
    grad_name="FftRealC2C",
    variant=_variant_r2c,
    nodes=_nodes_r2c,
    packs="input",
    batch="dims",
    autocast="float32",
    samples=cases(
        *(
            (((3, n),), {"dim": dim, "forward": way, "scale": 2.0, "onesided": half})
            for n in (4, 5)
            for dim in ((1,), (0, 1))
            for way in (True, False)
            for half in (True, False)
        ),
    ),
    shows={"normalization": normalization},
)
defop(
    "fft_c2r",
    "input",
    forward=_c2r,
    jvp="linear",
    vjp={"input": _c2r_grad},
    grad_name="FftC2R",
    nodes=_nodes_c2r,
    batch="dims",
    autocast="float32",
    samples=lambda rng: [
        Sample(
            (draw(rng, (3, 3), REAL, "complex"),),
            {"dim": dim, "forward": way, "scale": 0.5, "n": n},
        )
        for n in (4, 5)
        for dim in ((1,), (0, 1))
        for way in (True, False)
    ],
    shows={"normalization": normalization, "last_dim_size": "n"},
)


def _fit_sizes(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    part = x[tuple(slice(min(a, b)) for a, b in zip(x.shape, shape, strict=True))]
    if part.shape == shape:
        return part.copy()
    out = xp.zeros(shape, x.dtype)
    out[tuple(slice(n) for n in part.shape)] = part
    return out


defop(
    "fit_sizes",
    "input",
    forward=_fit_sizes,
    aval=lambda x, shape: (shape, x[1]),
    jvp="linear",
    vjp={"input": lambda F, g, input_shape: F.fit_sizes(g, shape=input_shape)},
    grad_name="ConstantPadNd",
    samples=cases((((3, 4),), {"shape": (2, 6)}), complex=True),
    shows={"pad": added_sizes},
)


# ---- arguments --------------------------------------------------------------------------------
def _typed(input: Any, name: str, complex_: bool) -> Tensor:
    """Convert the input to a floating-point dtype, or to a complex one if `complex_`."""
    input = at_full_precision(require_tensor(input, name))
    kind = input.dtype
    if kind is dtypes.complex32:
        raise OperationError("MKL FFT doesn't support tensors of type: Half")
    if kind.itemsize < 4 and (kind.is_floating_point or kind.is_complex):
        raise DtypeError(f"Unsupported dtype {kind.scalar_type_name}")
    if kind.is_integral:
        kind = dtypes.get_default_dtype()
    if complex_:
        kind = kind.to_complex()
    return input if input.dtype is kind else F.cast(input, dtype=kind.numpy)


def _scale(norm: Any, forward: bool, count: int, name: str) -> float:
    if norm is not None and not isinstance(norm, str):
        raise ArgumentTypeError(f"{name}(): argument 'norm' must be str, not {type_name(norm)}")
    if norm == "ortho":
        return 1 / math.sqrt(count) if count else 1.0
    if norm in (None, "backward"):
        return 1.0 if forward or not count else 1 / count
    if norm == "forward":
        return (1 / count if count else 1.0) if forward else 1.0
    raise OperationError(f'Invalid normalization mode: "{norm}"')


def _one(input: Any, n: Any, dim: Any, name: str) -> tuple[int, int]:
    """Return the dimension and the length of a one-dimensional transform."""
    shape = require_tensor(input, name)._array.shape
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ArgumentTypeError(f"{name}(): argument 'dim' must be int, not {type_name(dim)}")
    number = normalize_dim(dim, len(shape), scalar_is_vector=False)
    if n is not None and (not hasattr(n, "__index__") or isinstance(n, bool)):
        raise ArgumentTypeError(f"{name}(): argument 'n' must be int, not {type_name(n)}")
    size = shape[number] if n is None else int(n)
    if size < 1:
        raise OperationError(f"Invalid number of data points ({size}) specified")
    return number, size


def _several(input: Any, s: Any, dim: Any, name: str) -> tuple[tuple[int, ...], list[int]]:
    """Return the dimensions and lengths of a transform over several dimensions."""
    shape = require_tensor(input, name)._array.shape
    ndim = len(shape)
    if isinstance(s, int):
        s = (s,)
    if isinstance(dim, int) and not isinstance(dim, bool):
        dim = (dim,)
    for word, value in (("s", s), ("dim", dim)):
        if value is not None and not isinstance(value, (tuple, list)):
            raise ArgumentTypeError(
                f"{name}(): argument '{word}' must be tuple of ints, not {type_name(value)}"
            )
    if dim is not None:
        dims = tuple(normalize_dim(d, ndim, scalar_is_vector=False) for d in dim)
        if len(set(dims)) != len(dims):
            raise OperationError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise OperationError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > ndim:
            raise OperationError(
                f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions."
            )
        dims = tuple(range(ndim - len(s), ndim))
    else:
        dims = tuple(range(ndim))
    sizes = (
        [shape[d] for d in dims]
        if s is None
        else [shape[d] if n == -1 else int(n) for n, d in zip(s, dims, strict=True)]
    )
    for n in sizes:
        if n < 1:
            raise OperationError(f"Invalid number of data points ({n}) specified")
    return dims, sizes


def _fit(x: Tensor, dims: Any, sizes: Any) -> Tensor:
    """Cut the dimensions to the sizes or pad them with zeros."""
    shape = list(x._array.shape)
    for d, n in zip(dims, sizes, strict=True):
        if n < shape[d]:
            x = F.slice(x, dim=d, start=0, end=n, step=1)
        shape[d] = n
    return x if tuple(shape) == x._array.shape else F.fit_sizes(x, shape=tuple(shape))


def _full(name: str, input: Any, sizes: Any, dims: Any, norm: Any, forward: bool) -> Tensor:
    """Transform complex to complex. Real input is transformed as it is."""
    scale = _scale(norm, forward, math.prod(sizes), name)
    x = _typed(input, name, False)
    fits = all(x._array.shape[d] == n for d, n in zip(dims, sizes, strict=True))
    x = _fit(x if fits or name in _OF_LINES else _typed(x, name, True), dims, sizes)
    if x.dtype.is_complex:
        return F.fft_c2c(x, dim=dims, forward=forward, scale=scale) if dims else x.clone()
    if not dims:
        return _typed(x, name, True)
    if name not in _OF_LINES and hooked():
        return F.fft_c2c(_typed(x, name, True), dim=dims, forward=forward, scale=scale)
    made = F.fft_r2c(x, dim=dims, forward=forward, scale=scale, onesided=False)
    return made if name in _OF_LINES else titled(made, "FftC2C")


_OF_LINES = ("fft", "ifft")


def _half(name: str, input: Any, sizes: Any, dims: Any, norm: Any, forward: bool) -> Tensor:
    """Transform real input to the half-spectrum of non-negative frequencies."""
    if not dims:
        raise OperationError(f"{name} must transform at least one axis")
    x = _typed(input, name, False)
    if x.dtype.is_complex:
        raise DtypeError(
            f"Only supports floating-point dtypes, but found: {x.dtype.scalar_type_name}"
            if name == "ihfftn"
            else f"{name} expects a real{'-valued' if name.endswith('n') else ''} input tensor, but got {x.dtype.scalar_type_name}"
        )
    scale = _scale(norm, forward, math.prod(sizes), name)
    x = _fit(x, dims, sizes)
    if forward:
        return F.fft_r2c(x, dim=dims, forward=True, scale=scale, onesided=True)
    made = F.fft_r2c(x, dim=dims[-1:], forward=False, scale=scale, onesided=True)
    if not dims[1:]:
        return made
    return F.fft_c2c(titled(made, "ConjPhysical"), dim=dims[:-1], forward=False, scale=1.0)


def _whole(name: str, input: Any, sizes: Any, dims: Any, norm: Any, forward: bool) -> Tensor:
    """Transform a half-spectrum to a real signal, whose sizes are `sizes`."""
    if not dims:
        raise OperationError(f"{name} must transform at least one axis")
    scale = _scale(norm, forward, math.prod(sizes), name)
    x = _fit(_typed(input, name, True), dims, [*sizes[:-1], sizes[-1] // 2 + 1])
    return F.fft_c2r(x, dim=dims, forward=forward, scale=scale, n=sizes[-1])


def _signal_sizes(input: Any, s: Any, dims: Any, sizes: Any) -> Any:
    """Return the lengths of the real signal: the given ones, with the default 2 (n - 1) for the
    last dimension.
    """
    if not dims:
        return sizes
    if s is None or (s[-1] if isinstance(s, (tuple, list)) else s) == -1:
        sizes = [*sizes[:-1], 2 * (input._array.shape[dims[-1]] - 1)]
    if sizes[-1] < 1:
        raise OperationError(f"Invalid number of data points ({sizes[-1]}) specified")
    return sizes


# ---- one dimension ----------------------------------------------------------------------------
def _line(name: str, input: Any, n: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    """Transform complex to complex along a dimension."""
    usual = n is norm is None and type(dim) is int
    if usual and (quick := few.made(input, dim, forward)) is not None:
        return quick
    number, size = _one(input, n, dim, name)
    made = _full(name, input, [size], (number,), norm, forward)
    if usual and number == input._array.ndim - 1:
        few.remember(input, (dim, forward), lambda a: transformer(a, forward), made)
    return made


@public(namespace="fft", out=_written("fft"))
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along `dim`.

    Args:
        input: real or complex, any shape.
        n: length, to which the dimension is cut or padded with zeros.
        norm: "backward" (scale the inverse by 1/n, the default), "ortho" (both by 1/sqrt(n)) or
            "forward".

    Raises:
        RuntimeError: no data points, or an unknown `norm`. IndexError: `dim` is out of range.

    >>> import pellucid as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """
    return _line("fft", input, n, dim, norm, True)


@public(namespace="fft", out=_written("ifft"))
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse discrete Fourier transform along a dimension; see `fft` for the arguments.

    >>> import pellucid as torch
    >>> torch.fft.ifft(torch.fft.fft(torch.tensor([1.0, 2.0]))).real
    tensor([1., 2.])
    """
    return _line("ifft", input, n, dim, norm, False)


@public(namespace="fft", out=_written("rfft"))
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform of a real signal, which has n // 2 + 1 frequencies.

    Args:
        input: real, any shape.
        n: the length to which the dimension is cut or padded with zeros.
        dim: the dimension. Default: -1.
        norm: as for `fft`.

    >>> import pellucid as torch
    >>> torch.fft.rfft(torch.ones(4)).real
    tensor([4., 0., 0.])
    """
    number, size = _one(input, n, dim, "rfft")
    return _half("rfft", input, [size], (number,), norm, True)


@public(namespace="fft", out=_written("irfft"))
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`: the real signal of a half spectrum.

    Args:
        input: complex, any shape, with m frequencies along `dim`.
        n: the length of the signal. Default: 2 (m - 1). Give it for odd lengths.
        dim: the dimension. Default: -1.
        norm: as for `fft`.

    >>> import pellucid as torch
    >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0])), n=3)
    tensor([1., 2., 3.])
    """
    return _to_real("irfft", input, n, dim, norm, False)


@public(namespace="fft", out=_written("hfft"))
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real Fourier transform of a signal with Hermitian symmetry, of which the first half is
    given.

    >>> import pellucid as torch
    >>> torch.fft.hfft(torch.tensor([1.0, 0.0]))
    tensor([1., 1.])
    """
    return _to_real("hfft", input, n, dim, norm, True)


def _to_real(name: str, input: Any, n: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    number, _ = _one(input, 1, dim, name)
    if n is not None:
        _one(input, n, dim, name)
    size = 2 * (input._array.shape[number] - 1) if n is None else n
    if size < 1:
        raise OperationError(f"Invalid number of data points ({size}) specified")
    return _whole(name, input, [size], (number,), norm, forward)


@public(namespace="fft", out=_written("ihfft"))
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: the first half of the Hermitian signal of a real spectrum.

    >>> import pellucid as torch
    >>> torch.fft.ihfft(torch.tensor([1.0, 1.0])).real
    tensor([1., 0.])
    """
    number, size = _one(input, n, dim, "ihfft")
    return _half("ihfft", input, [size], (number,), norm, False)


# ---- several dimensions -----------------------------------------------------------------------
Sizes = tuple[int, ...] | list[int] | int | None


@public(namespace="fft", out=_written("fftn"))
def fftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """Discrete Fourier transform over several dimensions.

    Args:
        input: real or complex, any shape.
        s: the lengths to which the dimensions are cut or padded with zeros. Default: their sizes.
        dim: the dimensions. Default: all, or the last ones if `s` is given.
        norm: as for `fft`.

    >>> import pellucid as torch
    >>> torch.fft.fftn(torch.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    dims, sizes = _several(input, s, dim, "fftn")
    return _full("fftn", input, sizes, dims, norm, True)


@public(namespace="fft", out=_written("fftn"))
def ifftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    >>> import pellucid as torch
    >>> torch.fft.ifftn(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    dims, sizes = _several(input, s, dim, "ifftn")
    return _full("ifftn", input, sizes, dims, norm, False)


@public(namespace="fft", out=_written("rfftn"))
def rfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The Fourier transform of a real signal over several dimensions: half of the last one's
    frequencies.

    >>> import pellucid as torch
    >>> torch.fft.rfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    dims, sizes = _several(input, s, dim, "rfftn")
    return _half("rfftn", input, sizes, dims, norm, True)


@public(namespace="fft", out=_written("irfftn"))
def irfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`: a real signal.

    >>> import pellucid as torch
    >>> torch.fft.irfftn(torch.fft.rfftn(torch.ones(2, 2)))
    tensor([[1., 1.],
            [1., 1.]])
    """
    dims, sizes = _several(input, s, dim, "irfftn")
    return _whole("irfftn", input, _signal_sizes(input, s, dims, sizes), dims, norm, False)


@public(namespace="fft", out=_written("hfftn"))
def hfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The real Fourier transform of a Hermitian signal over several dimensions; see `hfft`.

    >>> import pellucid as torch
    >>> torch.fft.hfftn(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    dims, sizes = _several(input, s, dim, "hfftn")
    return _whole("hfftn", input, _signal_sizes(input, s, dims, sizes), dims, norm, True)


@public(namespace="fft", out=_written("ihfftn"))
def ihfftn(input: Tensor, s: Sizes = None, dim: Sizes = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    >>> import pellucid as torch
    >>> torch.fft.ihfftn(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    dims, sizes = _several(input, s, dim, "ihfftn")
    return _half("ihfftn", input, sizes, dims, norm, False)


def _two(name: str, of: Any) -> Any:
    """Return the two-dimensional form of a transform over several dimensions."""

    def transform(
        input: Tensor, s: Sizes = None, dim: Sizes = (-2, -1), norm: str | None = None
    ) -> Tensor:
        return of(input, s, dim, norm)

    transform.__name__ = transform.__qualname__ = name
    columns = {"r": 3, "ir": 6, "h": 6, "ih": 3}.get(name.removesuffix("fft2"), 4)
    transform.__doc__ = (
        f"`{of.__name__}` over the last two dimensions, or the two in `dim`.\n\n"
        f">>> import pellucid as torch\n>>> torch.fft.{name}(torch.ones(4, 4)).shape\n"
        f"torch.Size([4, {columns}])\n"
    )
    return public(namespace="fft", out=_written({"ifft2": "fftn"}.get(name, f"{name[:-1]}n")))(
        transform
    )


fft2, ifft2, rfft2 = _two("fft2", fftn), _two("ifft2", ifftn), _two("rfft2", rfftn)
irfft2, hfft2, ihfft2 = _two("irfft2", irfftn), _two("hfft2", hfftn), _two("ihfft2", ihfftn)


# ---- frequencies and their order --------------------------------------------------------------
def _frequencies(
    name: str,
    values: Any,
    n: int,
    d: float,
    dtype: Any,
    requires_grad: bool,
    device: Any,
    layout: Any,
    pin_memory: Any,
) -> Tensor:
    check_memory(layout, pin_memory)
    kind = dtype or dtypes.get_default_dtype()
    if kind.is_integral:
        raise OperationError(f"{name} requires a floating point or complex dtype")
    if kind.is_complex:
        raise UnsupportedError(f"\"arange_cpu\" not implemented for '{kind.scalar_type_name}'")
    with np.errstate(all="ignore"):
        made = make_tensor((values(n) / (n * np.float64(d))).astype(kind.numpy))
    if device is not None:
        made = made.to(device)
    return made.requires_grad_() if requires_grad else made


def _check_count(n: Any, name: str) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise ArgumentTypeError(
            f"{name}(): argument 'n' (position 1) must be int, not {type_name(n)}"
        )
    return int(n)


def _counted(name: str) -> Asked:
    """Return the rule for `out=` of frequencies, which first resizes it as `arange` does."""

    def check(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
        n = args[0] if args else given.get("n")
        if type(n) is int and not out.dtype.is_integral:
            size = n if name == "fftfreq" else int(n / 2) + 1
            FUNCTIONS["torch"]["arange"](size, out=out)
        return {}

    return Asked(f"cast: {name} requires a floating point or complex dtype", check)


@public(namespace="fft", out=_counted("fftfreq"))
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that `fft` of n samples returns, in cycles per unit.

    Args:
        n: how many samples.
        d: the distance between two samples. Default: 1.
        dtype: a floating-point dtype. Default: the default dtype.

    >>> import pellucid as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    n = _check_count(n, "fft_fftfreq")
    if n < 0:
        raise OperationError(f"Trying to create tensor with negative dimension {n}: [{n}]")

    def values(n: int) -> Any:
        k = np.arange(n)
        return np.where(k < (n + 1) // 2, k, k - n).astype(np.float64)

    return _frequencies("fftfreq", values, n, d, dtype, requires_grad, device, layout, pin_memory)


@public(namespace="fft", out=_counted("rfftfreq"))
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that `rfft` of n samples returns, in cycles per unit.

    Args:
        n: how many samples.
        d: the distance between two samples. Default: 1.
        dtype: a floating-point dtype. Default: the default dtype.

    >>> import pellucid as torch
    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    n = _check_count(n, "fft_rfftfreq")

    def values(n: int) -> Any:
        return np.arange(int(n / 2) + 1, dtype=np.float64)

    return _frequencies("rfftfreq", values, n, d, dtype, requires_grad, device, layout, pin_memory)


def _shifted(name: str, input: Any, dim: Any, way: int) -> Tensor:
    shape = require_tensor(input, name)._array.shape
    if dim is None:
        dims = tuple(range(len(shape)))
    else:
        dims = tuple(
            normalize_dim(d, len(shape)) for d in ((dim,) if isinstance(dim, int) else dim)
        )
    if not dims:
        raise OperationError("`shifts` required")
    return input.roll([shape[d] // 2 if way > 0 else (shape[d] + 1) // 2 for d in dims], dims)


@public(namespace="fft")
def fftshift(input: Tensor, dim: Sizes = None) -> Tensor:
    """Move the zero frequency to the middle of a spectrum.

    Args:
        input: any shape and dtype.
        dim: a dimension or several. Default: all of them.

    >>> import pellucid as torch
    >>> torch.fft.fftshift(torch.tensor([0, 1, 2, -2, -1]))
    tensor([-2, -1,  0,  1,  2])
    """
    return _shifted("fft_fftshift", input, dim, 1)


@public(namespace="fft")
def ifftshift(input: Tensor, dim: Sizes = None) -> Tensor:
    """Inverse of `fftshift`.

    Args:
        input: any shape and dtype.
        dim: a dimension or several. Default: all of them.

    >>> import pellucid as torch
    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1, 2]))
    tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted("fft_ifftshift", input, dim, -1)
