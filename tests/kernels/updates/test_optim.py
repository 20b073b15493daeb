"""Kernels of element-wise rules over lists of arrays; `tests/optim` has those of the optimizers."""

from functools import partial

import numpy as np
import pytest

from pellucid.ir.formula import chosen, decayed, nearer
from pellucid.kernels.updates import optim

RNG = np.random.default_rng(6)
SHAPES = [(3, 5), (17,), (), (0, 4), (2, 3, 7), (70_000,)]


def everything(m, n, param, grad, kept, far=False):
    """All that a formula may compute."""
    near = chosen(
        m,
        m.differs(n.a, 0.0),
        lambda: m.maximum(m.abs(param) * n.a, kept),
        lambda: m.sqrt(m.abs(grad)),
    )
    clamped = m.clamp(near, min=n.low, max=n.high) + m.sign(grad)
    signed = m.where(grad > 0, clamped, m.where(grad < 0, -clamped, grad * 0))
    moved = nearer(m, param, kept, n.weight)
    return {
        "param": m.fma(signed, n.a, moved) if far else signed,
        "kept": decayed(m, param, m.constant(grad), n.a),
    }


def plain(param, grad, kept, a, low, high, weight, far):
    near = np.maximum(np.abs(param) * a, kept) if a else np.sqrt(np.abs(grad))
    signed = np.sign(grad) * (np.clip(near, low, high) + np.sign(grad))
    return signed * a + param + (kept - param) * weight if far else signed, grad + a * param


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "numbers", [(0.0, 0.1, 0.5, 0.25), (1.5, -1.0, 1.0, 0.75), (-0.5, 0.0, 3.0, 1.0)]
)
@pytest.mark.parametrize("far", [False, True])
def test_a_formula(far, numbers, dtype, thread_count):
    rule = optim.UpdateRule(everything, ("kept",), ("a", "low", "high", "weight"), ("far",) * far)
    params, grads, kept = (
        [np.asarray(RNG.standard_normal(s), dtype) for s in SHAPES] for _ in range(3)
    )
    for step in range(2):
        want = [
            plain(
                p.astype(np.float64),
                g.astype(np.float64) * (-1 if step else 1),
                k.astype(np.float64),
                *numbers,
                far,
            )
            for p, g, k in zip(params, grads, kept)
        ]
        assert optim.apply(rule, [params, grads, kept], bool(step), numbers)
        for p, k, (new, rest) in zip(params, kept, want):
            tolerance = 2e-6 if dtype is np.float32 else 1e-14
            np.testing.assert_allclose(p, new, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(k, rest, rtol=tolerance, atol=tolerance)


def sgd(m, n, param, grad):
    return {"param": m.fma(grad, n.minus_lr, param)}


SGD = partial(optim.apply, optim.UpdateRule(sgd, (), ("minus_lr",)))


def test_refusals_change_nothing():
    params, grads = (
        [np.asarray(RNG.standard_normal(s), np.float32) for s in SHAPES] for _ in range(2)
    )
    before = [p.copy() for p in params]
    bad = [
        [g.astype(np.float64) for g in grads],
        [g.astype(np.float16) for g in grads],
        grads[:-1],
        [g.reshape(-1)[:-1] if g.size else g for g in grads],
        [*grads[:-1], np.zeros((70_000, 2), np.float32)[:, 0]],
        tuple(grads),
        [*grads[:-1], None],
    ]
    for wrong in bad:
        assert SGD([params, wrong], False, (1.0,)) is False
    whole = [p.astype(np.int32) for p in params]
    assert SGD([whole, whole], False, (1.0,)) is False
    fixed = params[0].copy()
    fixed.flags.writeable = False
    assert SGD([[fixed], [params[0]]], False, (1.0,)) is False
    assert SGD([[params[0]], [fixed]], False, (0.0,)) is True
    for p, b in zip(params, before):
        np.testing.assert_array_equal(p, b)
    assert SGD([[], []], False, (1.0,)) is True


def test_nan_gradients_show():
    params, grads = [np.ones(20, np.float32)], [np.zeros(20, np.float32)]
    grads[0][3] = np.nan
    assert SGD([params, grads], False, (-0.1,))
    assert np.isnan(params[0]).nonzero()[0].tolist() == [3]
