import numpy as np
import pytest

from pellucid.codegen import optim

RNG = np.random.default_rng(6)
SHAPES = [(3, 5), (17,), (), (0, 4), (2, 3, 7), (70_000,)]


def arrays(scale=1.0, positive=False):
    made = [np.asarray(RNG.standard_normal(s) * scale, np.float32) for s in SHAPES]
    return [np.abs(a) for a in made] if positive else made


def copy(lists):
    return [[a.astype(np.float64) for a in arrays] for arrays in lists]


@pytest.mark.parametrize("options", [{}, {"maximize": True}, {"weight_decay": 0.1}])
@pytest.mark.parametrize("momentum, nesterov, dampening", [(0, False, 0), (0.9, False, 0.1), (0.9, True, 0)])
def test_sgd(momentum, nesterov, dampening, options, thread_count):
    params, grads, buffers = arrays(), arrays(), arrays()
    wide = copy((params, grads, buffers))
    for step in range(3):
        first = step == 0
        more = {"momentum": momentum, "nesterov": nesterov, "dampening": dampening, "first_step": first}
        assert optim.sgd(params, grads, buffers if momentum else None, lr=0.1, **more, **options)
        for k, (p, g) in enumerate(zip(*wide[:2])):
            g = (-g if options.get("maximize") else g) + options.get("weight_decay", 0) * p
            if momentum:
                wide[2][k] = b = g if first else momentum * wide[2][k] + (1 - dampening) * g
                g = g + momentum * b if nesterov else b
            wide[0][k] = p - 0.1 * g
    for got, want in zip(params, wide[0]):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("beta1", [0.9, 0.3, 0.0])
def test_adam(decoupled, amsgrad, beta1, thread_count):
    params, grads = arrays(), arrays()
    state = [[np.zeros_like(p) for p in params] for _ in range(3)]
    wide = copy((params, *state))
    options = {"lr": 0.01, "beta1": beta1, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1}
    for step in (1, 2, 3):
        grads = arrays()
        used = state if amsgrad else state[:2]
        assert optim.adam(params, grads, *used, step=step, decoupled=decoupled, maximize=step == 2, **options)
        for k, g in enumerate(grads):
            p, g = wide[0][k], g.astype(np.float64) * (-1 if step == 2 else 1)
            if decoupled:
                p = p * (1 - 0.01 * 0.1)
            else:
                g = g + 0.1 * p
            wide[1][k] = beta1 * wide[1][k] + (1 - beta1) * g
            wide[2][k] = 0.99 * wide[2][k] + 0.01 * g * g
            wide[3][k] = np.maximum(wide[3][k], wide[2][k])
            root = np.sqrt(wide[3 if amsgrad else 2][k] / (1 - 0.99**step))
            wide[0][k] = p - 0.01 * wide[1][k] / (1 - beta1**step) / (root + 1e-6)
    for got, want in zip(params, wide[0]):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


def test_refusals_change_nothing():
    params, grads = arrays(), arrays()
    before = [p.copy() for p in params]
    bad = [
        [g.astype(np.float64) for g in grads],
        grads[:-1],
        [g.reshape(-1)[:-1] if g.size else g for g in grads],
        [*grads[:-1], np.zeros((70_000, 2), np.float32)[:, 0]],
        tuple(grads),
        [*grads[:-1], None],
    ]
    for wrong in bad:
        assert optim.sgd(params, wrong, lr=1.0) is False
    fixed = params[0].copy()
    fixed.flags.writeable = False
    assert optim.sgd([fixed], [params[0]], lr=1.0) is False
    assert optim.sgd([params[0]], [fixed], lr=0.0) is True
    assert optim.sgd(params, grads, None, lr=1.0, momentum=0.9) is False
    for p, b in zip(params, before):
        np.testing.assert_array_equal(p, b)
    assert optim.sgd([], [], lr=1.0) is True


def test_nan_gradients_show():
    params, grads = [np.ones(20, np.float32)], [np.zeros(20, np.float32)]
    grads[0][3] = np.nan
    optim.adam(params, grads, [np.zeros(20, np.float32)], [np.zeros(20, np.float32)], step=1, lr=0.1)
    assert np.isnan(params[0]).nonzero()[0].tolist() == [3]
