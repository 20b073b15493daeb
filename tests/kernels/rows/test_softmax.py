import numpy as np
import pytest
from scipy import special

from pellucid.kernels.rows import softmax as sm

RNG = np.random.default_rng(3)
SHAPES = [
    (1, 1),
    (3, 10),
    (5, 16),
    (7, 33),
    (2, 3, 64),
    (4, 1000),
    (300, 130),
    (17,),
    (0, 5),
    (5, 0),
]


def data(shape, scale=5):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax_and_backward(shape, thread_count):
    x, g = data(shape), data(shape)
    x64, g64 = x.astype(np.float64), g.astype(np.float64)
    exact = special.softmax(x64, axis=-1) if x.size else x64
    y = sm.softmax(x)
    np.testing.assert_allclose(y, exact, rtol=4e-6, atol=1e-30)
    want = exact * (g64 - (g64 * exact).sum(-1, keepdims=True))
    np.testing.assert_allclose(sm.softmax_backward(g, y), want, rtol=1e-4, atol=2e-6)
    log = special.log_softmax(x64, axis=-1) if x.size else x64
    y = sm.log_softmax(x)
    np.testing.assert_allclose(y, log, rtol=2e-6, atol=2e-6)
    want = g64 - exact * g64.sum(-1, keepdims=True)
    np.testing.assert_allclose(sm.log_softmax_backward(g, y), want, rtol=1e-4, atol=2e-4)


def test_other_axes_and_layouts():
    x = data((3, 4, 5))
    for axis in (0, 1, -2, 2):
        got = sm.softmax(x, axis)
        assert got.flags.c_contiguous
        np.testing.assert_allclose(got, special.softmax(x.astype(np.float64), axis=axis), rtol=4e-6)
    np.testing.assert_allclose(
        sm.softmax(x[:, ::2, 1:]), special.softmax(x[:, ::2, 1:], axis=-1), rtol=4e-6
    )
    assert sm.softmax(x.astype(np.float16)) is None


def test_special_values_stay_in_their_rows():
    x = data((6, 20))
    x[0, 3] = np.nan
    x[1, :] = -np.inf
    x[2, 5] = np.inf
    x[3, 7] = -np.inf
    x[4] += 1e30
    y, log = sm.softmax(x), sm.log_softmax(x)
    assert np.isnan(y[:3]).all() and np.isnan(log[:2]).all()
    assert y[3, 7] == 0 and log[3, 7] == -np.inf and abs(y[3].sum() - 1) < 1e-6
    assert np.isfinite(y[4:]).all()


def reference(x, t, weight, ignore, smoothing):
    logp = special.log_softmax(x.astype(np.float64), axis=1)
    keep = t != ignore
    safe = np.where(keep, t, 0)
    w = np.ones(x.shape[1]) if weight is None else weight.astype(np.float64)
    loss = -(1 - smoothing) * w[safe] * logp[np.arange(len(t)), safe] - smoothing * logp.mean(1)
    return loss * keep, (w[safe] * keep).sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(1, 1), (64, 10), (33, 65), (100, 1000)])
def test_cross_entropy(shape, reduction, smoothing, thread_count):
    rows, columns = shape
    x, t = data(shape), RNG.integers(0, columns, rows)
    t[1::7] = -100
    for weight in (None, RNG.random(columns).astype(np.float32)) if not smoothing else (None,):
        loss, saved = sm.cross_entropy(x, t, weight, label_smoothing=smoothing, reduction=reduction)
        losses, count = reference(x, t, weight, -100, smoothing)
        want = (
            losses if reduction == "none" else losses.sum() / (count if reduction == "mean" else 1)
        )
        np.testing.assert_allclose(loss, want, rtol=5e-6, atol=1e-5)
        assert loss.dtype == np.float32
        g = data(loss.shape, 1)
        got = sm.cross_entropy_backward(g, x, t, saved, weight, label_smoothing=smoothing)
        p = special.softmax(x.astype(np.float64), axis=1)
        hot = np.zeros(shape)
        hot[np.arange(rows), np.where(t == -100, 0, t)] = 1
        slope = (p - (1 - smoothing) * hot - smoothing / columns) * (t != -100)[:, None]
        slope *= 1 if weight is None else weight[np.where(t == -100, 0, t)][:, None]
        slope *= (g if reduction == "none" else g / (count if reduction == "mean" else 1)).reshape(
            -1, 1
        )
        np.testing.assert_allclose(got, slope, rtol=1e-4, atol=1e-6)


def test_cross_entropy_errors_and_edges():
    x = data((3, 4))
    with pytest.raises(IndexError, match="Target 4 is out of bounds."):
        sm.cross_entropy(x, np.array([0, 4, 1]))
    with pytest.raises(IndexError, match="Target -1 is out of bounds."):
        sm.cross_entropy(x, np.array([0, -1, 1]))
    loss, saved = sm.cross_entropy(x, np.full(3, -100))
    assert np.isnan(loss)
    assert (
        sm.cross_entropy_backward(np.float32(1).reshape(()), x, np.full(3, -100), saved) == 0
    ).all()
    assert sm.cross_entropy(x, np.zeros(3, np.int32)) is None
    assert sm.cross_entropy(x.T, np.zeros(4, np.int64)) is None
    x[1, 2] = np.nan
    losses, _ = sm.cross_entropy(x, np.array([0, 1, 2]), reduction="none")
    assert np.isnan(losses).tolist() == [False, True, False]
    x[1] = -np.inf
    assert np.isnan(sm.cross_entropy(x, np.array([0, 1, 2]), reduction="none")[0][1])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_cross_entropy_of_large_logits_keeps_its_digits(kind):
    x = np.array([[0, 2, 1], [4, 0, 1]], kind)
    target, one = np.array([0, 2]), np.ones(2, kind)
    loss, saved = sm.cross_entropy(x, target, reduction="none")
    gradient = sm.cross_entropy_backward(one, x, target, saved)
    for smoothing in (0.0, 0.25):
        want, _ = sm.cross_entropy(x, target, None, -100, smoothing, "none")
        far, kept = sm.cross_entropy(x + kind(100000), target, None, -100, smoothing, "none")
        np.testing.assert_allclose(far, want, rtol=1e-6)
    far, kept = sm.cross_entropy(x + kind(100000), target, reduction="none")
    np.testing.assert_array_equal(far, loss)
    far = sm.cross_entropy_backward(one, x + kind(100000), target, kept)
    np.testing.assert_array_equal(far, gradient)
