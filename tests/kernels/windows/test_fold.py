import itertools

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import config
from pellucid.kernels.windows import fold as windows
from pellucid.kernels.windows.fold import Windows
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)
SIZES = [(5, 7), (9, 4), (3, 37)]
OPTIONS = list(
    itertools.product(
        ((1, 1), (2, 3), (3, 3)),
        ((1, 1), (2, 1)),
        ((0, 0), (1, 2), (6, 5)),
        ((1, 1), (2, 3), (3, 1)),
    )
)


def places(w):
    """Of each window's row and column and each window: where in a padded image it looks."""
    rows = np.arange(w.kernel[0])[:, None] * w.dilation[0] + np.arange(w.out[0]) * w.stride[0]
    columns = np.arange(w.kernel[1])[:, None] * w.dilation[1] + np.arange(w.out[1]) * w.stride[1]
    return rows[:, None, :, None], columns[None, :, None, :]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_columns_and_images(size, dtype, thread_count):
    done = 0
    for options in OPTIONS:
        w = Windows(size, *options)
        if min(w.out) < 1:
            continue
        x = RNG.standard_normal((2, 3, *size)).astype(dtype)
        (ph, pw), (rows, across) = w.padding, places(w)
        padded = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
        made = windows.columns(x, w)
        np.testing.assert_array_equal(made, padded[:, :, rows, across].reshape(made.shape))
        g = RNG.standard_normal(made.shape).astype(dtype)
        want = np.zeros_like(padded)
        np.add.at(
            want,
            (slice(None), slice(None), *np.broadcast_arrays(rows, across)),
            g.reshape(2, 3, *w.kernel, *w.out),
        )
        got = windows.images(g, w)
        np.testing.assert_allclose(
            got, want[:, :, ph : ph + size[0], pw : pw + size[1]], rtol=1e-5, atol=1e-5
        )
        done += 1
    assert done > 20


def test_arrays_with_gaps_and_dtypes_without_a_kernel():
    w = Windows((6, 5), (2, 2), (1, 1), (0, 0), (1, 1))
    x = RNG.standard_normal((5, 6, 2, 3)).astype(np.float32).T
    np.testing.assert_array_equal(windows.columns(x, w), windows.columns(x.copy(order="C"), w))
    assert windows.columns(np.zeros((3, 2, 6, 5), np.int64), w) is None
    assert windows.columns(np.zeros((0, 2, 6, 5), np.float32), w) is None


@pytest.mark.parametrize("shape", [(2, 3, 6, 5), (3, 6, 5)])
def test_with_and_without_kernels(shape, monkeypatch):
    x = torch.from_numpy(RNG.standard_normal(shape)).requires_grad_()

    def both():
        columns = F.unfold(x, (3, 2), padding=1, stride=(1, 2))
        image = F.fold(columns.sin(), (6, 5), (3, 2), padding=1, stride=(1, 2))
        return columns, image, *torch.autograd.grad(image.exp().sum(), x)

    native = both()
    monkeypatch.setattr(config, "kernels", False)
    for a, b in zip(native, both(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-12)


def test_gradients_of_gradients():
    x = torch.rand(1, 2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: F.unfold(x, 2, padding=1), (x,))
    assert torch.autograd.gradgradcheck(
        lambda x: F.fold(F.unfold(x, 2, padding=1) ** 3, (4, 3), 2, padding=1), (x,)
    )
