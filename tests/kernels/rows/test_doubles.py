"""Kernels of rows and channels in float64, held to NumPy's arithmetic in long double."""

import numpy as np
import pytest

from pellucid.kernels.rows import channel_norm, norm, softmax

RNG = np.random.default_rng(0)
WIDE = np.longdouble


def near(got, want, tolerance=1e-13):
    assert got.dtype == np.float64
    assert np.allclose(got, np.asarray(want, np.float64), tolerance, tolerance)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 8), (5, 17), (2, 3, 33), (4, 1000), (0, 4)])
def test_softmax_and_log_softmax(shape):
    x, g = RNG.standard_normal(shape) * 3, RNG.standard_normal(shape)
    for axis in range(len(shape)):
        e = np.exp(x.astype(WIDE) - (x.max(axis, keepdims=True) if x.size else 0))
        y = e / e.sum(axis, keepdims=True)
        near(softmax.softmax(x, axis), y)
        near(softmax.log_softmax(x, axis), np.log(y))
        near(
            softmax.softmax_backward(g, np.asarray(y, float), axis),
            y * (g - (g * y).sum(axis, keepdims=True)),
        )
        near(
            softmax.log_softmax_backward(g, np.asarray(np.log(y), float), axis),
            g - y * g.sum(axis, keepdims=True),
        )


def test_softmax_of_what_is_not_finite():
    x = RNG.standard_normal((4, 19))
    x[0, 3], x[1], x[2, 5], x[3, :4] = np.nan, -np.inf, np.inf, -np.inf
    made = softmax.softmax(x)
    assert np.isnan(made[:3]).all() and (made[3, :4] == 0).all() and abs(made[3].sum() - 1) < 1e-14


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(reduction):
    x, target = RNG.standard_normal((6, 37)), np.array([0, 36, 5, -100, 7, 7])
    loss, saved = softmax.cross_entropy(x, target, reduction=reduction)
    y = np.exp(x.astype(WIDE))
    y /= y.sum(1, keepdims=True)
    kept = target >= 0
    rows = np.where(kept, -np.log(y[np.arange(6), target * kept]), 0)
    near(loss, {"mean": rows.sum() / 5, "sum": rows.sum(), "none": rows}[reduction])
    g = RNG.standard_normal(np.shape(loss))
    one = np.zeros((6, 37))
    one[np.arange(6), target * kept] = 1
    scale = np.reshape(g, (-1, 1)) * kept[:, None] / (5 if reduction == "mean" else 1)
    near(softmax.cross_entropy_backward(np.asarray(g), x, target, saved), (y - one) * scale)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 8), (70, 33), (2, 1000)])
def test_layer_norm(rows, columns):
    x, g = RNG.standard_normal((rows, columns)) + 1, RNG.standard_normal((rows, columns))
    w, b = RNG.standard_normal((2, columns))
    out, mean, rstd = norm.layer_norm(x, (columns,), w, b)
    away = x.astype(WIDE) - x.astype(WIDE).mean(1, keepdims=True)
    scale = 1 / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5)
    near(out, away * scale * w + b, 1e-11)
    gx, gw, gb = norm.layer_norm_backward(g, x, mean, rstd, w)
    gw_ = g * w
    near(
        gx,
        scale
        * (
            gw_
            - gw_.mean(1, keepdims=True)
            - away * scale * (gw_ * away * scale).mean(1, keepdims=True)
        ),
        1e-10,
    )
    near(gw, (g * away * scale).sum(0), 1e-11)
    near(gb, g.sum(0), 1e-12)
    near(
        norm.rms_norm(x, (columns,), w, 1e-5)[0],
        x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5) * w,
        1e-12,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape, groups",
    [
        ((3, 4), 2),
        ((2, 6, 5), 3),
        ((2, 4, 3, 7), 1),
        ((9, 8, 1, 2), 8),
        ((70, 33), 33),
        ((4, 5, 40), 5),
    ],
)
def test_group_and_batch_norm(shape, groups, dtype):
    x, g = ((RNG.standard_normal(shape) + 1).astype(dtype) for _ in range(2))
    w, b = RNG.standard_normal((2, shape[1])).astype(dtype)
    channels = (1, -1) + (1,) * (len(shape) - 2)
    rough = 2e-4 if dtype == np.float32 else 1e-11

    def reference(parts, axes):
        """Over `axes` of the input in the shape `parts`."""
        away = x.astype(WIDE).reshape(parts) - x.astype(WIDE).reshape(parts).mean(
            axes, keepdims=True
        )
        scale = 1 / np.sqrt((away**2).mean(axes, keepdims=True) + 1e-5)
        xhat, scaled = away * scale, (g * w.reshape(channels)).astype(WIDE).reshape(parts)
        slope = (
            scaled
            - scaled.mean(axes, keepdims=True)
            - xhat * (scaled * xhat).mean(axes, keepdims=True)
        )
        rest = (0, *range(2, len(shape)))
        xhat = xhat.reshape(shape)
        return (
            xhat * w.reshape(channels) + b.reshape(channels),
            (scale * slope).reshape(shape),
            (g * xhat).sum(rest),
            g.sum(rest),
        )

    for wanted, made, backward in (
        (
            reference((shape[0], groups, -1), (2,)),
            channel_norm.group_norm(x, groups, w, b),
            lambda *saved: channel_norm.group_norm_backward(g, x, *saved, groups, w),
        ),
        (
            reference(shape, (0, *range(2, len(shape)))),
            channel_norm.batch_norm(x, w, b),
            lambda *saved: channel_norm.batch_norm_backward(g, x, *saved, w),
        ),
    ):
        for got, want in zip((made[0], *backward(*made[1:])), wanted, strict=True):
            assert got.dtype == dtype
            assert np.allclose(got, np.asarray(want, float), rough, rough * 10)
