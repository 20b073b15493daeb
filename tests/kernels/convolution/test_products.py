"""Convolution as one matrix product: the definition's numbers for every geometry, in eager and compiled
calls, and nothing where it does not serve.
"""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.convolution import call, products, reference
from pellucid.kernels.convolution.geometry import conv_geometry
from pellucid.llvm import target, threads

pytestmark = pytest.mark.skipif(not target.available(), reason="needs native code")
# images, channels, output channels, input, kernel, stride, padding, dilation
SHAPES = [
    (8, 64, 256, (2, 2), (3, 3), 1, 1, 1),
    (8, 64, 256, (4, 4), (3, 3), 2, 1, 1),
    (3, 70, 130, (5, 3), (3, 3), 2, (1, 2), 1),
    (9, 40, 300, (7, 7), (3, 3), 3, 0, 2),
    (17, 33, 260, (4, 4), (4, 4), 4, 0, 1),
    (4, 64, 256, (2, 3), (2, 3), (1, 2), ((1, 0), (0, 2)), 1),
    (6, 150, 300, (9,), (5,), 2, 2, 1),
    (2, 40, 130, (2, 3, 2), (3, 3, 3), 1, 1, 1),
    (9, 64, 256, (1, 1), (3, 3), 1, 1, 1),
]


@pytest.fixture
def everywhere(monkeypatch):
    """Products for fewer weights, too, and plans that know of that."""

    def forget():
        for f in (
            call._forward,
            call._input_grad,
            call._weight_grad,
            products.forward_plan,
            products.input_grad_plan,
            products.weight_grad_plan,
        ):
            f.cache_clear()

    monkeypatch.setattr(products, "LEAST", dict.fromkeys(products.LEAST, 1 << 12))
    forget()
    yield
    monkeypatch.undo()
    forget()


def arrays(shape, seed=0):
    n, c, o, size, kernel, *how = shape
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(n, c, *size)), rng.normal(size=(o, c, *kernel))
    geo = conv_geometry(x.shape, w.shape, *how, 1)
    g = rng.normal(size=geo.out_shape)
    return [a.astype(np.float32) for a in (x, w, g, rng.normal(size=o))], how, geo


def close(got, expected):
    assert got.dtype == np.float32 and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_the_definitions_numbers(shape, everywhere):
    (x, w, g, b), how, geo = arrays(shape)
    wide = [a.astype(np.float64) for a in (x, w, g, b)]
    forward, inward, outward = (
        f(geo) for f in (products.forward_plan, products.input_grad_plan, products.weight_grad_plan)
    )
    assert None not in (forward, inward, outward)
    expected = reference.conv(wide[0], wide[1], *how)
    close(forward.run(x, w, np.empty(geo.out_shape, np.float32)), expected)
    bias = wide[3].reshape(-1, *[1] * len(geo.k))
    close(forward.run(x, w, np.empty(geo.out_shape, np.float32), b), expected + bias)
    made = inward.run(g, w, np.full(geo.x_shape, np.nan, np.float32))
    close(made, reference.conv_input_grad(wide[2], wide[1], geo.x_shape, *how))
    close(outward.run(g, x), reference.conv_weight_grad(wide[2], wide[0], geo.w_shape, *how))


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_calls_use_it_and_threads_change_no_bit(shape, everywhere):
    (x, w, g, b), how, geo = arrays(shape)
    kinds = [
        call._forward(True, "float", x.shape, w.shape, *how, 1)[2],
        call._weight_grad(True, "float", g.shape, x.shape, w.shape, *how, 1)[2],
    ]
    assert all(isinstance(k, products.ProductPlan) for k in kinds)
    before, seen = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            made = (
                call.conv(x, w, *how, 1, b),
                call.conv_input_grad(g, w, x.shape, *how),
                call.conv_weight_grad(g, x, w.shape, *how),
            )
            seen.append([None if a is None else a.tobytes() for a in made])
    finally:
        threads.set_num_threads(before)
    assert seen[0] == seen[1] == seen[2]


def test_what_it_does_not_serve(everywhere):
    def plan(x, w, *how, groups=1):
        return products.forward_plan(conv_geometry(x, w, *(how or (1, 1, 1)), groups))

    assert plan((8, 64, 2, 2), (64, 64, 3, 3)) is not None
    assert plan((8, 64, 2, 2), (64, 32, 3, 3), groups=2) is None
    assert plan((17, 64, 2, 2), (64, 64, 3, 3)) is None  # many results
    assert plan((8, 64, 2, 2), (64, 64, 1, 1)) is None  # a product as it is
    assert plan((8, 4, 2, 2), (8, 4, 3, 3)) is None  # few weights
    assert plan((0, 64, 2, 2), (64, 64, 3, 3)) is None


def test_infinities_stay_where_they_belong(everywhere):
    (x, w, g, _), how, geo = arrays(SHAPES[0])
    x[3, 5, 0, 1], g[2, 7, 1, 1] = np.inf, np.nan
    out = products.forward_plan(geo).run(x, w, np.empty(geo.out_shape, np.float32))
    expected = reference.conv(x, w, *how)
    assert np.array_equal(np.isfinite(out), np.isfinite(expected))
    grad = products.input_grad_plan(geo).run(g, w, np.empty(geo.x_shape, np.float32))
    expected = reference.conv_input_grad(g, w, geo.x_shape, *how)
    assert np.array_equal(np.isfinite(grad), np.isfinite(expected))


def test_compiled_layers_are_eager_ones(everywhere):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(32, 128, 3, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(128, 128, 3, 1, 1)
    )
    run = torch.compile(model)
    for k in range(4):
        x = torch.randn(8, 32, 4, 4, generator=torch.Generator().manual_seed(k)).requires_grad_()
        results = []
        for f in (model, run):
            y = f(x)
            results.append((y, *torch.autograd.grad(y.square().sum(), [x, *model.parameters()])))
        for a, b in zip(*results, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4 * float(a.detach().abs().max()))


def test_under_channels_last_and_without_order(everywhere):
    conv = torch.nn.Conv2d(64, 256, 3, padding=1)
    x = torch.randn(8, 64, 2, 2)
    expected = conv(x)
    for other in (
        x.contiguous(memory_format=torch.channels_last),
        x.transpose(2, 3).transpose(2, 3),
    ):
        torch.testing.assert_close(conv(other), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(conv(torch.cat([x, x], 3)[..., :2]), expected, rtol=1e-4, atol=1e-4)
