"""Native products of bytes against NumPy's: every height of tile, tails, zero points, patches."""

import numpy as np
import pytest

from pellucid.kernels.quantized import products

RNG = np.random.default_rng(0)


def weight(rows, k, zero_points=(0,)):
    return products.Weight(
        RNG.integers(-128, 128, (rows, k)), RNG.random(rows) * 0.01 + 0.001, zero_points
    )


def by_numpy(monkeypatch, function):
    with monkeypatch.context() as patch:
        patch.setattr(products, "_native", lambda w: False)
        return function()


@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 64, 10), (2, 3, 1), (5, 7, 33), (14, 64, 32), (31, 130, 70)]
)
@pytest.mark.parametrize("late", [False, True])
def test_linear(m, k, n, late, monkeypatch):
    x, w, bias = (
        RNG.integers(0, 256, (m, k)).astype(np.uint8),
        weight(n, k),
        RNG.standard_normal(n).astype(np.float32),
    )

    def run():
        return products.linear(x, w, 0.02, 7, bias, scale=0.05, zero_point=30, relu=True, late=late)

    assert (run() == by_numpy(monkeypatch, run)).all()


def test_linear_of_floats(monkeypatch):
    x, w, bias = (
        RNG.standard_normal((9, 30)).astype(np.float32),
        weight(40, 30),
        RNG.standard_normal(40).astype(np.float32),
    )

    def run():
        return products.linear_dynamic(x, w, 0.03, 100, bias)

    assert (run() == by_numpy(monkeypatch, run)).all()


def test_a_weight_with_zero_points():
    x, w = RNG.integers(0, 256, (3, 700)).astype(np.uint8), weight(2, 700, [3, -5])
    sums = (x.astype(np.int64) - 9) @ (w.ints.astype(np.int64) - w.zero_points[:, None]).T
    assert (products._sums(x, w, 9) == sums).all()


@pytest.mark.parametrize(
    ("channels", "rows", "taps", "stride", "padding", "dilation", "groups"),
    [
        (16, 24, (3, 3), (1, 1), (1, 1), (1, 1), 1),
        (3, 8, (7, 7), (2, 2), (3, 3), (1, 1), 1),
        (16, 32, (3, 3), (1, 1), (2, 2), (2, 2), 2),
        (64, 10, (1, 1), (2, 1), (0, 0), (1, 1), 1),
        (32, 40, (1, 1), (1, 1), (0, 0), (1, 1), 1),
        (8, 8, (3, 3), (1, 1), (1, 1), (1, 1), 8),
        (8, 4, (1, 3), (1, 1), (0, 4), (1, 1), 1),
        (75, 75, (3, 3), (2, 2), (1, 1), (1, 1), 75),
        (40, 40, (5, 3), (1, 1), (4, 2), (2, 1), 40),
    ],
)
def test_convolution(channels, rows, taps, stride, padding, dilation, groups, monkeypatch):
    x = RNG.integers(0, 256, (2, 9, 11, channels)).astype(np.uint8)
    w = weight(rows, taps[0] * taps[1] * channels // groups)
    how = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "scale": 0.5,
        "zero_point": 30,
    }

    def run():
        return products.convolution(x, w, taps, 0.02, 7, None, **how)

    assert (run() == by_numpy(monkeypatch, run)).all()
    # Against sums over shifted images.
    oy, ox = (
        products.extent(s, *rest)
        for s, *rest in zip((9, 11), taps, stride, padding, dilation, strict=True)
    )
    sums = products._sums_of_patches(
        x, w, taps, 7, stride, padding, dilation, groups, (oy, ox)
    ).reshape(2, oy, ox, rows)
    full = np.zeros((2, 9 + 2 * padding[0], 11 + 2 * padding[1], channels), np.int64)
    full[:, padding[0] : padding[0] + 9, padding[1] : padding[1] + 11] = x.astype(np.int64) - 7
    kernel = w.ints.reshape(rows, *taps, channels // groups).astype(np.int64)
    y, xx, r = oy - 1, ox // 2, rows - 1
    used = channels // groups
    first = (r // (rows // groups)) * used
    top, left = y * stride[0], xx * stride[1]
    window = full[
        1,
        top : top + dilation[0] * taps[0] : dilation[0],
        left : left + dilation[1] * taps[1] : dilation[1],
        first : first + used,
    ]
    assert sums[1, y, xx, r] == (window * kernel[r]).sum()


def test_range():
    x = RNG.standard_normal(1001).astype(np.float32)
    assert products.range_of(x) == (float(x.min()), float(x.max()))
