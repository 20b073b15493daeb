"""Convolution and pooling against PyTorch: values, indices and gradients of random configurations."""

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional

from pellucid.kernels.convolution import call as conv_kernels  # noqa: E402
from pellucid.kernels.convolution import reference as conv_reference  # noqa: E402
from pellucid.kernels.convolution.geometry import transposed_input_shape  # noqa: E402
from pellucid.kernels.pooling import call as pool_kernels  # noqa: E402
from pellucid.kernels.pooling import reference as pool_reference  # noqa: E402
from pellucid.llvm import target  # noqa: E402

pytestmark = pytest.mark.oracle


def both(name, *args, **options):
    """The function's results from the NumPy reference and, where they apply, from the kernels."""
    sides = (
        (conv_reference, conv_kernels)
        if name.startswith("conv")
        else (pool_reference, pool_kernels)
    )
    results = [
        getattr(side, name)(*args, **options)
        for side in (sides if target.available() else sides[:1])
    ]
    assert results[0] is not None
    return [made for made in results if made is not None]


def tensor(seed, shape, dtype):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def configuration(seed):
    draw = random.Random(seed)
    dims = draw.choice([1, 2, 2, 3])

    def sizes(low, high):
        return [draw.randint(low, high) for _ in range(dims)]

    groups = draw.choice([1, 1, 2, 3])
    x = (draw.randint(1, 3), groups * draw.randint(1, 3), *sizes(7, 10))
    w = (groups * draw.choice([1, 2, 8]), x[1] // groups, *sizes(1, 3))
    return draw, dims, x, w, [sizes(1, 3), sizes(0, 2), sizes(1, 2), groups]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("seed", range(20))
def test_convolution(seed, dtype):
    _, dims, x_shape, w_shape, args = configuration(seed)
    x, w = (tensor(i, s, dtype).requires_grad_() for i, s in enumerate((x_shape, w_shape)))
    b = tensor(2, w_shape[:1], dtype)
    out = (F.conv1d, F.conv2d, F.conv3d)[dims - 1](x, w, b, *args)
    g = tensor(3, out.shape, dtype)
    out.backward(g)
    close = (
        {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    )
    xs, ws, bs, gs = (t.detach().numpy() for t in (x, w, b, g))
    for made in both("conv", xs, ws, *args):
        np.testing.assert_allclose(made + bs.reshape(-1, *[1] * dims), out.detach(), **close)
    for made in both("conv_input_grad", gs, ws, x_shape, *args):
        np.testing.assert_allclose(made, x.grad, **close)
    for made in both("conv_weight_grad", gs, xs, w_shape, *args):
        np.testing.assert_allclose(made, w.grad, **close)


@pytest.mark.parametrize("seed", range(10))
def test_transposed_convolution(seed):
    draw, dims, _, w_shape, (stride, padding, dilation, groups) = configuration(100 + seed)
    x = tensor(0, (2, w_shape[0], *[draw.randint(4, 6) for _ in range(dims)]), torch.float32)
    w, b = tensor(1, w_shape, torch.float32), tensor(2, (w_shape[1] * groups,), torch.float32)
    extra = [draw.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
    function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
    expected = function(x, w, b, stride, padding, extra, groups, dilation)
    shape = transposed_input_shape(x.shape, w_shape, stride, padding, extra, dilation, groups)
    assert shape == tuple(expected.shape)
    for made in both(
        "conv_input_grad", x.numpy(), w.numpy(), shape, stride, padding, dilation, groups
    ):
        np.testing.assert_allclose(
            made + b.numpy().reshape(-1, *[1] * dims), expected, rtol=1e-4, atol=1e-4
        )


def test_complex_convolution():
    x, w = (
        torch.complex(tensor(i, s, torch.float64), tensor(i + 9, s, torch.float64))
        for i, s in enumerate([(2, 3, 8), (4, 3, 3)])
    )
    np.testing.assert_allclose(
        conv_reference.conv(x.numpy(), w.numpy(), 2, 1), F.conv1d(x, w, None, 2, 1), atol=1e-12
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_pooling(seed, dtype):
    import ml_dtypes

    def array(t):
        t = t.detach()
        return (
            t.float().numpy().astype(ml_dtypes.bfloat16) if t.dtype == torch.bfloat16 else t.numpy()
        )

    draw, dims, shape, _, (stride, _, dilation, _) = configuration(200 + seed)
    kernel = [draw.randint(1, 3) for _ in range(dims)]
    padding = [draw.randint(0, k // 2) for k in kernel]
    ceil_mode, include = draw.random() < 0.5, draw.random() < 0.5
    x = tensor(0, shape, dtype)
    if seed % 3 == 0 and dtype != torch.bfloat16:
        x = x.round()
        x.view(-1)[::4], x.view(-1)[::9] = -np.inf, np.nan
    maximum = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1]
    if dtype == torch.bfloat16 and dims == 1:
        maximum = None  # its one-dimensional form is computed through another kernel there
    if maximum:
        x.requires_grad_()
        values, index = maximum(x, kernel, stride, padding, dilation, ceil_mode, True)
        for made, places in both(
            "max_pool", array(x), kernel, stride, padding, dilation, ceil_mode
        ):
            np.testing.assert_array_equal(made.astype(float), array(values).astype(float))
            np.testing.assert_array_equal(places, index)
        if dtype != torch.bfloat16:
            g = tensor(1, values.shape, dtype)
            values.backward(g)
            for made in both("max_pool_grad", g.numpy(), index.numpy(), shape):
                np.testing.assert_allclose(made, x.grad, rtol=1e-5, atol=1e-5)
    if dtype == torch.bfloat16:
        return
    x = tensor(0, shape, dtype).requires_grad_()
    average = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[dims - 1]
    divisor = draw.choice([None, 5]) if dims > 1 else None
    out = average(x, kernel, stride, padding, ceil_mode, include, *([divisor] if dims > 1 else []))
    g = tensor(1, out.shape, dtype)
    out.backward(g)
    args = (kernel, stride, padding, ceil_mode, include, divisor)
    close = {"rtol": 1e-5, "atol": 1e-5}
    for made in both("avg_pool", array(x), *args):
        np.testing.assert_allclose(made, out.detach(), **close)
    for made in both("avg_pool_grad", array(g), shape, *args):
        np.testing.assert_allclose(made, x.grad, **close)


@pytest.mark.parametrize("seed", range(12))
def test_adaptive_pooling(seed):
    draw, dims, shape, _, _ = configuration(300 + seed)
    size = [draw.randint(1, 8) for _ in range(dims)]
    if seed % 3 == 0:
        size = [1] * dims
    x = tensor(0, shape, torch.float32).requires_grad_()
    out = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[dims - 1](
        x, size if dims > 1 else size[0]
    )
    g = tensor(1, out.shape, torch.float32)
    out.backward(g)
    close = {"rtol": 1e-5, "atol": 1e-5}
    for made in both("adaptive_avg_pool", x.detach().numpy(), size):
        np.testing.assert_allclose(made, out.detach(), **close)
    for made in both("adaptive_avg_pool_grad", g.numpy(), shape):
        np.testing.assert_allclose(made, x.grad, **close)
    maximum = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[dims - 1]
    values, index = maximum(x, size if dims > 1 else size[0], True)
    for made, places in both("adaptive_max_pool", x.detach().numpy(), size):
        np.testing.assert_array_equal(made, values.detach())
        np.testing.assert_array_equal(places, index)
