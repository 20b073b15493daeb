"""Rules over many arrays at once, by kernels and with NumPy: scaling, limits, averages; and what is
made of them.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid import config
from pellucid.arrays import lists
from pellucid.optim import swa_utils

SHAPES = [(3, 5), (), (0, 2), (700,)]


@pytest.fixture(params=[True, False], ids=["kernels", "numpy"])
def kernels(request, monkeypatch):
    monkeypatch.setattr(config, "kernels", request.param)
    return request.param


def arrays(dtype, seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(s), dtype) for s in SHAPES]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_scale(dtype, kernels):
    made = arrays(dtype, 0)
    lists.scale(made, 0.3)
    for a, b in zip(made, arrays(dtype, 0)):
        np.testing.assert_array_equal(a, b * b.dtype.type(0.3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_limit(dtype, kernels):
    made, before = arrays(dtype, 0), arrays(dtype, 0)
    if dtype is not np.int64:
        made[0][0, :3] = before[0][0, :3] = np.nan, np.inf, -np.inf
    lists.limit(made, 1)
    for a, b in zip(made, before):
        np.testing.assert_array_equal(a, np.clip(b, -1, 1))


def test_arrays_of_several_kinds_and_layouts(kernels):
    made = [np.ones(3, np.float32), np.ones(2), np.ones((4, 6), np.float32)[:, ::2]]
    lists.scale(made, 0.5)
    assert all((a == 0.5).all() for a in made)


def test_moves_are_refused_for_other_shapes():
    a, b = np.zeros((2, 3), np.float32), np.ones((3, 2), np.float32)
    assert lists.move([a], [b], 0.5) is False
    assert not a.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("make", [swa_utils.get_ema_multi_avg_fn, swa_utils.get_swa_multi_avg_fn])
def test_averages(make, dtype, kernels):
    if make is swa_utils.get_swa_multi_avg_fn and dtype is torch.int64:
        pytest.skip("a mean of integers is none, as in PyTorch")
    averages = [torch.tensor(a).mul(10).to(dtype) for a in arrays(np.float64, 1)]
    current = [torch.tensor(a).mul(10).to(dtype) for a in arrays(np.float64, 2)]
    versions = [t._version for t in averages]
    want = [t.double().numpy() for t in averages]
    weight = 0.001 if make is swa_utils.get_ema_multi_avg_fn else 0.25
    want = [a + (b.double().numpy() - a) * weight for a, b in zip(want, current)]
    make()(averages, current, 3)
    tolerance = {
        torch.float32: 1e-6,
        torch.float64: 1e-14,
        torch.bfloat16: 1e-2,
        torch.int64: 1.01,
    }[dtype]
    for t, b, version in zip(averages, want, versions):
        assert t.dtype is dtype
        np.testing.assert_allclose(
            t.double().numpy(), b, rtol=0 if dtype is torch.int64 else tolerance, atol=tolerance
        )
        assert t._version > version


@pytest.mark.parametrize("bad", [None, float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_unscaled_gradients(dtype, bad, kernels):
    params = [torch.nn.Parameter(torch.ones(*shape, dtype=dtype)) for shape in [(3,), (2, 2)]]
    for p in params:
        p.grad = torch.full_like(p, 8.0)
    if bad is not None:
        params[1].grad[1, 1] = bad
    optimizer = torch.optim.SGD(params, lr=0.25)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.unscale_(optimizer)
    assert params[0].grad.tolist() == [2, 2, 2]
    scaler.step(optimizer)
    assert params[0].detach().tolist() == [1.0 if bad is not None else 0.5] * 3


def test_large_finite_gradients_are_finite(kernels):
    p = torch.nn.Parameter(torch.ones(4))
    p.grad = torch.full((4,), 2.0**100)  # their squares are not
    optimizer = torch.optim.SGD([p], lr=2.0**-100)
    scaler = torch.amp.GradScaler("cpu", init_scale=1.0)
    scaler.step(optimizer)
    assert p.detach().tolist() == [0.0] * 4
