import numpy as np
import pytest

from pellucid.kernels.rows import channel_norm, norm, running

RNG = np.random.default_rng(4)


def data(*shape):
    return (RNG.standard_normal(shape) * 2 + 1).astype(np.float32)


def gradients(function, g, *inputs):
    """Vector-Jacobian products by central differences along random directions; float64."""
    results = []
    for k, x in enumerate(inputs):
        direction = RNG.standard_normal(x.shape)
        h = 1e-5
        plus = [v + h * direction if j == k else v for j, v in enumerate(inputs)]
        minus = [v - h * direction if j == k else v for j, v in enumerate(inputs)]
        results.append((direction, (g * (function(*plus) - function(*minus))).sum() / (2 * h)))
    return results


def check_gradients(function, g, inputs, got):
    wide = [v.astype(np.float64) for v in inputs]
    for (direction, want), gradient in zip(
        gradients(function, g.astype(np.float64), *wide), got, strict=True
    ):
        found = (direction * gradient.astype(np.float64).reshape(direction.shape)).sum()
        size = np.linalg.norm(direction) * np.linalg.norm(gradient) + 1e-6
        assert abs(found - want) < 2e-5 * size, (found, want)


def normalize(x, axes, eps=1e-5, center=True):
    mean = x.mean(axes, keepdims=True) if center else 0.0
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)


def by_channel(v, x):
    return np.reshape(v, (-1,) + (1,) * (x.ndim - 2))


@pytest.mark.parametrize(
    "shape, count",
    [((3, 7), 1), ((4, 5, 16), 1), ((130, 128), 1), ((6, 3, 11), 2), ((2, 20_000), 1)],
)
def test_layer_norm(shape, count, thread_count):
    x, g = data(*shape), data(*shape)
    inner = shape[-count:]
    w, b = data(*inner), data(*inner)
    axes = tuple(range(-count, 0))
    wide = x.astype(np.float64)
    for weight, bias in ((w, b), (w, None), (None, None)):
        function = lambda x, w=1.0, b=0.0: normalize(x, axes) * w + b
        given = [v for v in (weight, bias) if v is not None]
        out, mean, rstd = norm.layer_norm(x, inner, weight, bias)
        np.testing.assert_allclose(out, function(wide, *given), rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(mean, wide.mean(axes).reshape(-1), rtol=1e-5, atol=1e-6)
        grads = norm.layer_norm_backward(g, x, mean, rstd, weight)
        check_gradients(function, g, (x, *given), grads[: 1 + len(given)])
    function = lambda x, w=1.0: normalize(x, axes, 1e-6, center=False) * w
    for given in ((w,), ()):
        out, rstd = norm.rms_norm(x, inner, *given, eps=1e-6)
        np.testing.assert_allclose(out, function(wide, *given), rtol=2e-5, atol=2e-5)
        check_gradients(
            function, g, (x, *given), norm.rms_norm_backward(g, x, rstd, *given)[: 1 + len(given)]
        )


@pytest.mark.parametrize(
    "shape", [(4, 3, 5, 5), (2, 8, 33), (8, 2, 4, 4), (3, 5, 100, 100), (50, 7), (6, 4, 3)]
)
def test_batch_norm(shape, thread_count):
    x, g, w, b = data(*shape), data(*shape), data(shape[1]), data(shape[1])
    axes = (0, *range(2, len(shape)))
    wide = x.astype(np.float64)
    function = lambda x, w=1.0, b=0.0: normalize(x, axes) * by_channel(w, x) + by_channel(b, x)
    running_mean, running_var = data(shape[1]), np.abs(data(shape[1]))
    before = running_mean.copy(), running_var.copy()
    out, mean, rstd = channel_norm.batch_norm(x, w, b, running_mean, running_var, 0.2)
    np.testing.assert_allclose(out, function(wide, w, b), rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(mean, wide.mean(axes), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        running_mean, before[0] * 0.8 + 0.2 * wide.mean(axes), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        running_var, before[1] * 0.8 + 0.2 * wide.var(axes, ddof=1), rtol=1e-5
    )
    check_gradients(function, g, (x, w, b), channel_norm.batch_norm_backward(g, x, mean, rstd, w))
    out, mean, rstd = channel_norm.batch_norm(x)
    np.testing.assert_allclose(out, function(wide), rtol=2e-5, atol=2e-5)
    check_gradients(function, g, (x,), channel_norm.batch_norm_backward(g, x, mean, rstd)[:1])


@pytest.mark.parametrize(
    "shape, groups", [((4, 6, 5, 5), 3), ((2, 8, 33), 8), ((3, 4), 1), ((2, 32, 8, 8), 8)]
)
def test_group_norm(shape, groups, thread_count):
    x, g, w, b = data(*shape), data(*shape), data(shape[1]), data(shape[1])

    def function(x, w=1.0, b=0.0):
        return normalize(x.reshape(shape[0], groups, -1), 2).reshape(shape) * by_channel(
            w, x
        ) + by_channel(b, x)

    wide = x.astype(np.float64)
    out, mean, rstd = channel_norm.group_norm(x, groups, w, b)
    np.testing.assert_allclose(out, function(wide, w, b), rtol=2e-5, atol=2e-5)
    check_gradients(
        function, g, (x, w, b), channel_norm.group_norm_backward(g, x, mean, rstd, groups, w)
    )
    out, mean, rstd = channel_norm.group_norm(x, groups)
    np.testing.assert_allclose(out, function(wide), rtol=2e-5, atol=2e-5)
    check_gradients(
        function, g, (x,), channel_norm.group_norm_backward(g, x, mean, rstd, groups)[:1]
    )


def test_large_means_do_not_cancel():
    x = (10_000 + RNG.standard_normal((4, 3, 64, 64))).astype(np.float32)
    want = normalize(x.astype(np.float64), (0, 2, 3))
    np.testing.assert_allclose(channel_norm.batch_norm(x)[0], want, atol=2e-3)
    rows = x.reshape(12, -1)
    np.testing.assert_allclose(
        norm.layer_norm(rows, rows.shape[1:])[0], normalize(rows.astype(np.float64), 1), atol=2e-3
    )


def test_nan_stays_in_its_row_and_results_do_not_depend_on_threads(thread_count):
    x = data(200, 100)
    x[3, 5] = np.nan
    out, mean, rstd = norm.layer_norm(
        x, (100,), np.ones(100, np.float32), np.zeros(100, np.float32)
    )
    assert np.isnan(out[3]).all() and np.isfinite(np.delete(out, 3, 0)).all()
    gx, gw, gb = norm.layer_norm_backward(np.ones_like(x), x, mean, rstd, np.ones(100, np.float32))
    gx2, gw2, gb2 = norm.layer_norm_backward(
        np.ones_like(x[:192]), x[:192], mean[:192], rstd[:192], np.ones(100, np.float32)
    )
    np.testing.assert_array_equal(gx[:192], gx2)
    np.testing.assert_array_equal(gb2, np.full(100, 192, np.float32))


def test_refusals():
    x = data(4, 6)
    assert norm.layer_norm(x, (4,)) is None
    assert norm.layer_norm(x.T, (4,)) is None
    assert norm.layer_norm(x.astype(np.float16), (6,)) is None
    assert channel_norm.batch_norm(x[:0, :, None]) is None
    assert channel_norm.group_norm(x, 4) is None


@pytest.mark.parametrize("char", "fd")
def test_running_statistics_move_as_by_numpy(char):
    rng = np.random.default_rng(0)
    for n in (1, 3, 8, 33):
        for momentum, eps in ((0.1, 1e-5), (0.0, 1e-3), (1.0, 1e-5), (1 / 3, 1e-5)):
            arrays = [rng.random(n).astype(char) + 0.1 for _ in range(4)]
            mean, var, batch, rstd = [a.copy() for a in arrays]
            if not running.moved(tuple(arrays), momentum, eps, 20 / 19):
                pytest.skip("no compiler")
            for r, value in (
                (mean, batch),
                (var, (1 / np.square(rstd.astype(np.float64)) - eps) * (20 / 19)),
            ):
                r *= r.dtype.type(1 - momentum)
                r += (momentum * value).astype(char)
            for made, expected in zip(arrays, (mean, var, batch, rstd), strict=True):
                np.testing.assert_array_equal(made, expected)
    frozen = np.ones(3, char)
    frozen.flags.writeable = False
    assert not running.moved((frozen, *arrays[1:]), 0.1, 1e-5, 1.0)
    assert not running.moved((arrays[0][::2], *arrays[1:]), 0.1, 1e-5, 1.0)
