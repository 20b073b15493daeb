"""Kernels that sample images, beside the definition in other operations."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.windows import grid
from pellucid.llvm import target
from pellucid.ops.nn import grid as nn_grid

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)
WAYS = [(2, mode) for mode in ("bilinear", "nearest", "bicubic")] + [
    (3, "bilinear"),
    (3, "nearest"),
]
SIZES = [
    ((5, 7, 3), (4, 9, 2), 3),
    ((1, 6, 1), (33, 2, 9), 17),
    ((2, 2, 2), (3, 100, 3), 1),
    ((3, 4, 2), (2, 0, 2), 2),
]


def both(x, at, how):
    """Results and gradients by the kernels and by the definition."""
    x, at = torch.from_numpy(x).requires_grad_(), torch.from_numpy(at).requires_grad_()
    want = nn_grid._composed(x, at, how.mode, how.padding, how.align)
    g = RNG.standard_normal(want.shape).astype(x.numpy(force=True).dtype)
    grads = torch.autograd.grad(want, (x, at), torch.from_numpy(g), allow_unused=True)
    a, b = x.detach().numpy(), at.detach().numpy()
    made = (
        grid.sample(a, b, how),
        grid.image_gradient(g, b, a.shape, how),
        grid.grid_gradient(g, a, b, how),
    )
    return made, (
        want.detach().numpy(),
        *(np.zeros_like(b) if t is None else t.numpy() for t in grads),
    )


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(("dims", "mode"), WAYS)
def test_sampling(dims, mode, padding, align, thread_count):
    for dtype, tolerance in (("float32", 2e-4), ("float64", 1e-11)):
        how = grid.Sampling(dims, mode, padding, align, dtype)
        for size, out, channels in SIZES:
            x = RNG.standard_normal((2, channels, *size[:dims])).astype(dtype)
            at = RNG.uniform(-2.3, 2.3, (2, *out[:dims], dims)).astype(dtype)
            for made, want in zip(*both(x, at, how), strict=True):
                np.testing.assert_allclose(made, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_positions_that_are_no_numbers_are_outside_or_first(mode, padding):
    x = RNG.standard_normal((1, 2, 4, 4)).astype(np.float32)
    at = RNG.uniform(-1, 1, (1, 3, 3, 2)).astype(np.float32)
    at[0, 0, 0, 0] = at[0, 1, 1] = np.nan
    made = grid.sample(x, at, grid.Sampling(2, mode, padding, False, "float32"))
    assert made[0, :, 2].all()
    if padding == "zeros" and mode == "bilinear":  # 0 times a weight that is not a number
        assert np.isnan(made[0, :, [0, 1], [0, 1]]).all()
    elif padding == "zeros":
        assert not made[0, :, [0, 1], [0, 1]].any()
    else:
        np.testing.assert_array_equal(made[0, :, 1, 1], x[0, :, 0, 0])
    volume = RNG.standard_normal((1, 1, 3, 3, 3)).astype(np.float32)
    nowhere = np.full((1, 1, 1, 1, 3), np.nan, np.float32)
    made = grid.sample(volume, nowhere, grid.Sampling(3, mode, padding, False, "float32"))
    assert made.item() == (0 if padding == "zeros" else volume[0, 0, 2, 2, 2])


def test_what_lies_outside_is_not_looked_at():
    x = np.full((1, 1, 2, 2), np.nan, np.float32)
    x[0, 0, 1, 1] = 3.0
    at = np.array([[[[1.0, 1.0], [5.0, 5.0]]]], np.float32)
    for align, corner in ((True, 3.0), (False, 0.25 * 3.0)):
        made = grid.sample(
            x[:, :, 1:, 1:] if not align else x,
            at,
            grid.Sampling(2, "bilinear", "zeros", align, "float32"),
        )
        want = [corner, 0.0] if not align else [np.nan, 0.0]
        np.testing.assert_array_equal(made.ravel()[1], want[1])
        if not align:
            np.testing.assert_allclose(made.ravel(), want)


def test_other_dtypes_have_no_kernel():
    how = grid.Sampling(2, "bilinear", "zeros", True, "float16")
    assert how.kernel("sample") is None and grid.native("image", how) is None
