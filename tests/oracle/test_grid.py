"""grid_sample and affine_grid, with gradients, beside PyTorch's."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
SIZES = [((5, 7, 3), (4, 9, 2), 3), ((1, 6, 1), (33, 2, 1), 17), ((2, 2, 2), (3, 100, 3), 1)]


def outcome(library, function, *arrays):
    leaves = [library.from_numpy(a.copy()).requires_grad_() for a in arrays]
    out = function(library.nn.functional, *leaves)
    weight = library.from_numpy(
        np.cos(np.arange(out.numel())).reshape(out.shape).astype(arrays[0].dtype)
    )
    return [t.detach().numpy() for t in (out, *library.autograd.grad((out * weight).sum(), leaves))]


def compare(function, *arrays):
    tolerance = 2e-4 if arrays[0].dtype == np.float32 else 1e-11
    for ours, theirs in zip(
        outcome(pellucid, function, *arrays), outcome(torch, function, *arrays), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("dims", "mode"),
    [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")],
)
def test_grid_sample(dims, mode, padding, align, dtype):
    for size, out, channels in SIZES:
        x = RNG.standard_normal((2, channels, *size[:dims])).astype(dtype)
        at = RNG.uniform(-2.3, 2.3, (2, *out[:dims], dims)).astype(dtype)
        compare(lambda f, x, at: f.grid_sample(x, at, mode, padding, align), x, at)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize(
    ("dims", "mode"),
    [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")],
)
def test_positions_that_are_no_numbers(dims, mode, kernels, align, dtype, monkeypatch):
    monkeypatch.setattr(pellucid.config, "kernels", kernels)
    x = RNG.uniform(1, 2, (1, 2, 1, 4, 5)[: dims + 2]).astype(dtype)
    values = np.array([np.nan, np.inf, -np.inf, 9.0, 0.1], dtype)
    at = np.stack(np.meshgrid(*[values] * dims), -1)[None]
    compare(lambda f, x, at: f.grid_sample(x, at, mode, "zeros", align), x, at)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")  # of a dimension of one element
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 1, 4), (2, 1, 2, 3, 4)])
def test_affine_grid(size, align):
    n = len(size) - 2
    for dtype in (np.float32, np.float64):
        compare(
            lambda f, t: f.affine_grid(t, size, align),
            RNG.standard_normal((2, n, n + 1)).astype(dtype),
        )


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [2, 3, 7, 8, 28, 33, 100])
def test_positions_of_the_identity_are_the_same_bits(size, align_corners):
    # They lie on pixels: which neighbors a gradient comes from hangs on the last bit.
    grids = [
        m.nn.functional.affine_grid(
            m.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]),
            (1, 1, size, size + 1),
            align_corners=align_corners,
        )
        for m in (torch, pellucid)
    ]
    assert grids[1].tolist() == grids[0].tolist()
