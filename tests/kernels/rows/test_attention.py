import numpy as np
import pytest

from pellucid.kernels.rows import attention as sdpa

RNG = np.random.default_rng(9)


def data(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def heads_last(*shape):
    """(B, H, T, D) as a view of (B, T, H, D)."""
    return data(shape[0], shape[2], shape[1], shape[3]).swapaxes(1, 2)


def reference(q, k, v, mask, causal, scale, g):
    q, k, v, g = (a.astype(np.float64) for a in (q, k, v, g))
    s = q @ k.swapaxes(-1, -2) * scale
    if mask is not None:
        s = s + (np.where(mask, 0, -np.inf) if mask.dtype == bool else mask)
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    p = e / np.where(total == 0, 1, total)
    dp = g @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    return p @ v, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g


def check(q, k, v, mask=None, causal=False, scale=None):
    g = data(*q.shape[:3], v.shape[3])
    want = reference(q, k, v, mask, causal, q.shape[3] ** -0.5 if scale is None else scale, g)
    out, lse = sdpa.attention(q, k, v, mask, causal, scale)
    got = (out, *sdpa.attention_backward(g, q, k, v, lse, mask, causal, scale))
    for name, a, b in zip(("out", "dq", "dk", "dv"), got, want, strict=True):
        assert a.shape == b.shape, name
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5, err_msg=name)
    return got


SIZES = [
    (1, 1, 1, 1, 1, 1),
    (2, 3, 5, 7, 4, 6),
    (2, 4, 64, 64, 32, 32),
    (1, 2, 130, 100, 16, 40),
    (1, 1, 65, 300, 64, 64),
    (1, 2, 161, 81, 8, 8),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_against_float64(sizes, causal, thread_count):
    b, h, t, s, d, e = sizes
    check(data(b, h, t, d), data(b, h, s, d), data(b, h, s, e), causal=causal)
    out, dq, dk, dv = check(
        heads_last(b, h, t, d),
        heads_last(b, h, s, d),
        heads_last(b, h, s, e),
        causal=causal,
        scale=0.3,
    )
    if h > 1 and t > 1:
        assert out.swapaxes(1, 2).flags.c_contiguous and dk.swapaxes(1, 2).flags.c_contiguous


@pytest.mark.parametrize("shape", [(2, 3, 20, 30), (20, 30), (2, 1, 1, 30), (1, 3, 20, 1), (30,)])
def test_masks(shape, thread_count):
    q, k, v = data(2, 3, 20, 8), data(2, 3, 30, 8), data(2, 3, 30, 8)
    check(q, k, v, data(*shape))
    keep = RNG.random(shape) < 0.7
    check(q, k, v, keep)
    check(q, k, v, data(*shape), causal=True)


@pytest.mark.parametrize("shape", [(2, 3, 37, 50), (2, 1, 1, 50), (37, 50)])
def test_masks_with_causal(shape, thread_count):
    q, k, v = heads_last(2, 3, 37, 24), heads_last(2, 3, 50, 24), heads_last(2, 3, 50, 40)
    check(q, k, v, data(*shape), causal=True)
    mask = RNG.random(shape) < 0.7
    mask[..., 0] = True
    check(q, k, v, mask, causal=True)


def test_rows_without_keys_give_zero():
    q, k, v = data(1, 2, 6, 4), data(1, 2, 9, 4), data(1, 2, 9, 4)
    keep = np.ones((6, 9), bool)
    keep[2] = False
    out, dq, _, _ = check(q, k, v, keep)
    assert (out[:, :, 2] == 0).all() and (dq[:, :, 2] == 0).all()


def test_large_scores_do_not_overflow():
    q, k, v = data(1, 1, 10, 4) * 100, data(1, 1, 12, 4) * 100, data(1, 1, 12, 4)
    out, _ = sdpa.attention(q, k, v)
    assert np.isfinite(out).all()


def test_nan_stays_in_its_row():
    q, k, v = data(1, 1, 10, 4), data(1, 1, 12, 4), data(1, 1, 12, 4)
    q[0, 0, 3, 1] = np.nan
    out, _ = sdpa.attention(q, k, v)
    assert np.isnan(out[0, 0, 3]).all() and np.isfinite(np.delete(out[0, 0], 3, 0)).all()


def test_refusals():
    q = data(1, 2, 5, 4)
    assert sdpa.attention(q.astype(np.float64), q, q) is None
    assert sdpa.attention(q[:, :, :, ::2], q[:, :, :, ::2], q) is None
    assert sdpa.attention(q, q[:, :1], q) is None
    assert sdpa.attention(q, q, q, np.ones((4, 5), np.float32)) is None
    assert sdpa.attention(q[0], q[0], q[0]) is None


@pytest.mark.parametrize("large", [-1e9, float(np.finfo(np.float32).min)])
def test_a_row_that_a_large_number_masks_shares_alike(large):
    q, k, v, g = (data(1, 2, 5, 8), data(1, 2, 33, 8), data(1, 2, 33, 8), data(1, 2, 5, 8))
    mask = np.zeros((5, 33), np.float32)
    mask[1:4] = large
    _, lse = sdpa.attention(q, k, v, mask)
    dq, dk, dv = sdpa.attention_backward(g, q, k, v, lse, mask)
    # beside such a number no score is seen: each key has the same weight
    for row in (1, 2, 3):
        slopes = (g[:, :, row, None] @ v.swapaxes(-1, -2))[:, :, 0] / 33
        slopes -= slopes.mean(-1, keepdims=True)
        want = (slopes[..., None, :] @ k)[:, :, 0] * 8**-0.5
        np.testing.assert_allclose(dq[:, :, row], want, rtol=2e-4, atol=2e-6)
    alone = np.zeros_like(g)
    alone[:, :, 2] = 1
    *_, dv = sdpa.attention_backward(alone, q, k, v, lse, mask)
    np.testing.assert_allclose(dv, 1 / 33, rtol=1e-5)


@pytest.mark.parametrize("keys", [1, 64, 4000, 200_000])
def test_blocks_of_queries_fit_and_are_few(keys):
    for queries in range(1, 400):
        rows = sdpa._block(queries, keys)
        assert 1 <= rows <= max(1, min(queries, 80, sdpa.WEIGHTS // keys))
        if keys <= 64:
            assert -(-queries // rows) == -(-queries // 80)
