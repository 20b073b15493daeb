"""Sampling of images at positions: grid_sample, and affine_grid, which computes positions.

Native kernels sample float32 and float64 images. Everything else (two-byte floats, gradients of
gradients, batched tensors) is a composition of other operations, which is the definition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import config
from ...arrays.meta import MetaArray
from ...arrays.native import kernels
from ...core import tracing
from ...core.bind import wrap
from ...core.primitive import TENSORS as F
from ...core.primitive import Primitive, defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import ArgumentValueError, OperationError, UnsupportedError, warn
from .._rules import as_index, differentiated, full_precision, require_tensor
from .._samples import Sample
from ..create.ranges import line_of


@public(namespace="nn.functional")
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Sampling positions of an affine map, for `grid_sample`.

    Args:
        theta: `(N, 2, 3)` or `(N, 3, 4)`.
        size: `(N, C, H, W)` or `(N, C, D, H, W)` of the target image.

    Source: Jaderberg et al., "Spatial Transformer Networks", 2015.

    >>> import pellucid as torch
    >>> theta = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])  # the identity
    >>> torch.nn.functional.affine_grid(theta, (1, 1, 2, 2), align_corners=True)[0, 0]
    tensor([[-1., -1.],
            [ 1., -1.]])
    """
    t = require_tensor(theta, "affine_grid", "theta")
    if not (t.dtype.is_floating_point):
        raise ArgumentValueError(f"Expected theta to have floating point type, but got {t.dtype}")
    if align_corners is None:
        align_corners = False
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            UserWarning,
        )
    given, size = size, tuple(map(as_index, size))
    n = len(size) - 2
    if n not in (2, 3):
        raise UnsupportedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {given}."
        )
    if t.ndim != 3 or t._array.shape[-2:] != (n, n + 1):
        raise ArgumentValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {given}. Got {t.shape}."
        )
    if min(size) <= 0:
        raise ArgumentValueError(f"Expected non-zero, positive output size. Got {given}")
    # Compute in the dtype of `theta`. At the identity, positions then lie on pixels up to the last
    # bit, which decides the pixels that get the gradient.
    axes, kind = [], t._array.dtype
    for s in size[2:]:
        line = line_of(-1, 1, s, kind) if s > 1 else np.zeros(1, kind)
        axes.append(line if align_corners else line * (s - 1) / s)
    mesh = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1).reshape(-1, n + 1)
    points = wrap(constant(np.broadcast_to(base, (size[0], *base.shape)).copy())).to(t.device)
    grid = F.matmul(points, t.transpose(1, 2))
    made = grid.reshape(size[0], *size[2:], n)
    return titled(made, "AffineGridGenerator", of=(t,), size=size, align_corners=align_corners)


@public(namespace="nn.functional")
@full_precision
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of images at positions in [-1, 1].

    Args:
        input: `(N, C, H, W)` or `(N, C, D, H, W)`.
        grid: `(N, H_out, W_out, 2)` with (x, y), or `(N, D_out, H_out, W_out, 3)` with (x, y, z).
        mode: "bilinear", "nearest" or "bicubic" (4-d only).
        padding_mode: "zeros", "border" or "reflection" for positions outside of the image. With
            "zeros",
            "bilinear" and "bicubic" give NaN in a plane at a position that is NaN or infinite; in a
            volume such a position is outside.

    Returns:
        `(N, C, *grid's spatial sizes)`.

    >>> import pellucid as torch
    >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> center = torch.zeros(1, 1, 1, 2)
    >>> torch.nn.functional.grid_sample(image, center, align_corners=True)
    tensor([[[[2.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ArgumentValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    x, g = require_tensor(input, "grid_sampler"), require_tensor(grid, "grid_sampler", "grid", 2)
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            UserWarning,
        )
    align = bool(align_corners)
    n = x.ndim - 2
    xs, gs = x._array.shape, g._array.shape
    if xs[:1] != gs[:1]:
        raise OperationError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(xs)} and grid with sizes {list(gs)}"
        )
    if gs[-1] != n:
        raise OperationError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {list(gs)}"
        )
    if 0 in xs[2:]:
        raise OperationError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(xs)} with dimension "
            f"{xs.index(0, 2)} being empty"
        )
    if n not in (2, 3) or g.ndim != x.ndim:
        raise OperationError(
            f"grid_sampler(): expected {'5D' if n > 2 else '4D'} input and grid with same number of dimensions, but got input with sizes "
            f"{list(xs)} and grid with sizes {list(gs)}"
        )
    if not x.dtype.is_floating_point:
        kernel = "grid_sampler_2d_cpu_kernel_impl" if n == 2 else "grid_sampler3d_cpu"
        raise UnsupportedError(f"\"{kernel}\" not implemented for '{x.dtype.scalar_type_name}'")
    if x._array.dtype != g._array.dtype:
        raise OperationError(
            f"expected scalar type {x.dtype.scalar_type_name} but found {g.dtype.scalar_type_name}"
        )
    if mode == "bicubic" and n != 2:
        raise OperationError("grid_sampler(): bicubic interpolation only supports 4D input")
    kind = x._array.dtype
    if mode == "nearest" and kind.itemsize == 2:  # positions are computed in float32
        wide = np.dtype(np.float32)
        return F.cast(
            grid_sample(F.cast(x, dtype=wide), F.cast(g, dtype=wide), mode, padding_mode, align),
            dtype=kind,
        )
    if (
        config.kernels
        and type(x._array) is type(g._array)
        and type(x._array) in (np.ndarray, MetaArray)
        and x._array.dtype == g._array.dtype
    ):
        how = {"mode": mode, "padding": padding_mode, "align": align}
        if _way(x._array, how).kernel("sample") is not None:
            return _RECORDS[n].call(x, g, **how)
    return _composed(x, g, mode, padding_mode, align)


# ---- by kernels ---------------------------------------------------------------------------------
def _way(x: np.ndarray, how: dict[str, Any]) -> Any:
    """Return how to sample images, or their gradients, of the dtype of `x`."""
    return kernels.windows.grid.Sampling(
        x.ndim - 2, how["mode"], how["padding"], how["align"], x.dtype.name
    )


def _sampled_vjp(
    F: Any, g: Any, input: Any, grid: Any, needs: Any, mode: str, padding: str, align: bool
) -> tuple[Any, ...]:
    moves = needs[1] and mode != "nearest"
    if not F.raw:
        again = lambda x, at: _composed(x, at, mode, padding, align)
        dx, dg = (
            differentiated(again, g, (input, grid), (needs[0], moves))
            if needs[0] or moves
            else (None, None)
        )
    else:
        how = {"mode": mode, "padding": padding, "align": align}
        dx = F.grid_image_grad(g, grid, shape=tuple(input.shape), **how) if needs[0] else None
        dg = F.grid_positions_grad(g, input, grid, **how) if moves else None
    if needs[1] and not moves:
        dg = F.full(
            shape=tuple(grid.shape), value=0, dtype=grid.dtype if F.raw else grid.dtype.numpy
        )
    return dx, dg


def _samples(n: int) -> Any:
    def samples(rng: np.random.Generator) -> Any:
        size, out = (4, 5, 3)[:n], (3, 2, 2)[:n]
        for mode in ("bilinear", "nearest", "bicubic")[: 5 - n]:
            for k, padding in enumerate(("zeros", "border", "reflection")):
                # positions between neighbors, where the result is differentiable
                at = rng.integers(-2, 6, (2, *out, n)) + rng.uniform(0.1, 0.4, (2, *out, n))
                sizes = np.array(size[::-1])
                align = bool(k % 2)
                at = at / (sizes - 1) * 2 - 1 if align else (at * 2 + 1) / sizes - 1
                x, how = (
                    rng.uniform(-2, 2, (2, 3, *size)),
                    {"mode": mode, "padding": padding, "align": align},
                )
                if _way(x, how).kernel("sample") is not None:
                    yield Sample((x, at), how)

    return samples


def _record(n: int) -> Primitive:
    return defop(
        f"grid_sampler_{n}d",
        "input grid",
        host=True,
        forward=lambda xp, x, grid, **how: kernels.windows.grid.sample(x, grid, _way(x, how)),
        aval=lambda x, grid, **how: ((*x[0][:2], *grid[0][1:-1]), x[1]),
        vjp=_sampled_vjp,
        linked="input? grid",
        grad_name=f"GridSampler{n}D",
        samples=_samples(n),
        shows={
            "interpolation_mode": lambda mode: ("bilinear", "nearest", "bicubic").index(mode),
            "padding_mode": lambda padding: ("zeros", "border", "reflection").index(padding),
            "align_corners": "align",
        },
    )


_RECORDS = {n: _record(n) for n in (2, 3)}
defop(
    "grid_image_grad",
    "grad grid",
    host=True,
    forward=lambda xp, g, grid, *, shape, **how: kernels.windows.grid.image_gradient(
        g, grid, shape, _way(g, how)
    ),
    aval=lambda g, grid, shape, **how: (shape, g[1]),
)
defop(
    "grid_positions_grad",
    "grad input grid",
    host=True,
    forward=lambda xp, g, x, grid, **how: kernels.windows.grid.grid_gradient(
        g, x, grid, _way(g, how)
    ),
    aval=lambda g, x, grid, **how: (grid[0], g[1]),
)


# ---- by other operations ------------------------------------------------------------------------
def _composed(x: Tensor, g: Tensor, mode: str, padding_mode: str, align: bool) -> Tensor:
    """Compute `grid_sample` from other operations; the arguments have been checked."""
    n = x.ndim - 2
    size = x._array.shape[2:]
    raw = [g[..., n - 1 - d] for d in range(n)]
    if mode == "bicubic":
        return _bicubic(x, raw, size, padding_mode, align)
    at = [_position(raw[d], size[d], padding_mode, align, n == 2) for d in range(n)]
    if mode == "nearest":
        value = _gather(
            x,
            [tracing.effect(_whole, a._array, True)[0] for a in at],
            (0,) * n,
            "zeros",
            align,
            None,
        )
        # The gradient of the positions is 0, not None.
        return F.where(wrap(constant(np.ones((1,) * (n + 2), bool))), value, raw[0].unsqueeze(1))
    low, floats = zip(*[tracing.effect(_whole, a._array, False) for a in at], strict=True)
    total = None
    for corner in np.ndindex((2,) * n):
        weight: Any = None
        for d in range(n):
            part = at[d] - wrap(floats[d])
            part = part if corner[d] else 1 - part
            weight = part if weight is None else weight * part
        value = _gather(x, low, corner, "zeros", align, weight)
        total = value if total is None else total + value
    assert total is not None
    return total


_FAR = 1e9  # outside of every image


def _unnormalise(at: Any, size: int, align: bool) -> Any:
    return (at + 1) * (0.5 * (size - 1)) if align else ((at + 1) * size - 1) * 0.5


def _reflect(at: Any, twice_low: int, twice_high: int) -> Any:
    """Positions mirrored at the borders until they are inside."""
    if twice_low == twice_high:
        return at * 0.0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    moved = (at - low).abs()
    extra = moved.remainder(span)
    flips = (moved / span).floor()
    return F.where(flips.remainder(2.0) == 0, extra + low, span - extra + low)


def _position(at: Any, size: int, padding: str, align: bool, plane: bool) -> Any:
    """Return the input coordinate of a grid value under the padding rule. With "border" and
    "reflection", NaN becomes the first position in planes and the last in volumes.
    """
    at = _unnormalise(at, size, align)
    if padding == "reflection":
        at = _reflect(at, 0, 2 * (size - 1)) if align else _reflect(at, -1, 2 * size - 1)
    if padding in ("border", "reflection"):
        inside = (at > 0) & (at < size - 1)  # no gradient passes at the border
        at = F.where(inside, at, at.detach().clamp(0, size - 1))
        at = F.where(at != at, 0 if plane else size - 1, at)
    elif not plane:  # in planes it stays what it is: PyTorch weights the zeros outside by it
        at = F.where(at.abs() < _FAR, at, -10.0)
    return at


def _bicubic(x: Tensor, raw: list[Any], size: Any, padding: str, align: bool) -> Tensor:
    """Sum 16 neighbors with Keys' weights. The padding rule applies to the coordinate of each
    neighbor separately.
    """
    at = [_unnormalise(raw[d], size[d], align) for d in range(2)]
    low, floats = zip(*[tracing.effect(_whole, a._array, False, None) for a in at], strict=True)
    weights = [_cubic_tensors(at[d] - wrap(floats[d]), -0.75) for d in range(2)]
    total: Any = None
    for i in range(4):
        for j in range(4):
            value = _gather(x, low, (i - 1, j - 1), padding, align, weights[0][i] * weights[1][j])
            total = value if total is None else total + value
    return total


def _cubic_tensors(t: Any, a: float) -> list[Any]:
    def near(d: Any) -> Any:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(1 + t), near(t), near(1 - t), far(2 - t)]


def _whole(
    at: np.ndarray, nearest: bool, infinite: float | None = -10.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions rounded down, or to the nearest, both as int64 and in their own dtype. NaN
    becomes a position outside.
    """
    known = np.nan_to_num(at, nan=-10.0, posinf=infinite, neginf=infinite)
    made = np.rint(known) if nearest else np.floor(known)
    return np.clip(made.astype(np.float64), -_FAR, _FAR).astype(np.int64), made


def _flat_places(
    low: Sequence[np.ndarray], shift: Sequence[int], shape: Sequence[int], padding: str, align: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return for every channel the flat positions of the neighbors `low + shift` in images of
    `shape`, and which ones are inside.
    """
    batch, channels, *size = shape
    inside = np.ones(low[0].shape, bool)
    flat = np.zeros(low[0].shape, np.int64)
    for own, k, s in zip(low, shift, size, strict=True):
        at = own + k
        if padding == "border":
            at = np.clip(at, 0, s - 1)
        elif padding == "reflection":
            twice_low, twice_high = (0, 2 * (s - 1)) if align else (-1, 2 * s - 1)
            at = np.clip(_reflected(at.astype(np.float64), twice_low, twice_high), 0, s - 1).astype(
                np.int64
            )
        inside &= (at >= 0) & (at < s)
        flat = flat * s + np.clip(at, 0, s - 1)
    index = np.broadcast_to(
        flat.reshape(batch, 1, -1), (batch, channels, math.prod(flat.shape[1:]))
    )
    return index.copy(), inside[:, None].copy()


def _reflected(at: np.ndarray, twice_low: int, twice_high: int) -> np.ndarray:
    """`_reflect` of plain positions."""
    if twice_low == twice_high:
        return at * 0.0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    moved = np.abs(at - low)
    extra = np.remainder(moved, span)
    return np.where(np.floor(moved / span) % 2 == 0, extra + low, span - extra + low)


def _gather(
    x: Tensor,
    low: Sequence[np.ndarray],
    shift: Sequence[int],
    padding: str,
    align: bool,
    weight: Any,
) -> Tensor:
    """Return the values of `x` at the neighbors of positions (0 outside), times a weight, with
    shape (N, C, *out).
    """
    batch, channels = x._array.shape[:2]
    index, inside = tracing.effect(_flat_places, list(low), shift, x._array.shape, padding, align)
    rows = x.reshape(batch, channels, -1)
    value = F.take_along(rows, wrap(index), dim=2, unique=False).reshape(
        batch, channels, *low[0].shape[1:]
    )
    value = F.where(wrap(inside), value, 0.0)
    return value if weight is None else value * weight.unsqueeze(1)


def whole_grid(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`affine_grid` of integers, of which PyTorch cuts the places off, too."""
    n = len(size) - 2
    same = make_tensor(np.eye(n, n + 1)[None])
    line = affine_grid(same, (1, *size[1:]), align_corners).to(theta.dtype).reshape((-1, n))
    line = F.cat(line, line.new_ones((line._array.shape[0], 1)), dim=1)
    made: Tensor = F.matmul(line, theta.mT)
    return made.reshape((size[0], *size[2:], n))
