"""The native loops over time against the same formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid import config
from pellucid.backends import rnn
from pellucid.codegen import target, threads

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def draw(mode, steps, batch, inputs, size, biased=True):
    rng = np.random.default_rng(steps * 1000 + batch * 100 + size)

    def array(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(np.float32)

    gates = GATES[mode] * size
    x, hx, cx = array(steps, batch, inputs), array(batch, size), array(batch, size) if mode == "lstm" else None
    weights = [array(gates, inputs), array(gates, size), *((array(gates), array(gates)) if biased else (None, None))]
    g = [array(steps, batch, size), array(batch, size), *([array(batch, size)] if mode == "lstm" else [])]
    return x, hx, cx, weights, g


def both_ways(mode, given, reverse, needs=(True,) * 7):
    x, hx, cx, weights, g = given
    needs = (*needs[:2], needs[2] and mode == "lstm", *needs[3:5], *(n and weights[2] is not None for n in needs[5:]))
    results, aux = rnn.forward(mode, x, hx, cx, *weights, reverse)
    return [*results, *rnn.backward(mode, g, x, weights[0], weights[1], aux, needs, reverse)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (3, 2, 5, 7), (4, 20, 8, 33), (2, 15, 3, 16), (5, 29, 4, 40)])
def test_native_equals_numpy(monkeypatch, mode, reverse, shape):
    for biased in (True, False):
        given = draw(mode, *shape, biased=biased)
        native = both_ways(mode, given, reverse)
        with monkeypatch.context() as patch:
            patch.setattr(config, "kernels", False)
            plain = both_ways(mode, given, reverse)
        for a, b in zip(native, plain, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("mode", MODES)
def test_threads_do_not_change_a_bit(mode):
    given = draw(mode, 6, 23, 32, 96)
    before = threads.get_num_threads()
    made = []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            made.append(both_ways(mode, given, False))
    finally:
        threads.set_num_threads(before)
    for other in made[1:]:
        for a, b in zip(made[0], other, strict=True):
            assert (a is None and b is None) or np.array_equal(a, b)


@pytest.mark.skipif(not target.available(), reason="no compiler")
def test_the_first_state_gets_no_gradient_where_nobody_wants_it():
    given = draw("gru", 3, 4, 5, 6)
    everything = both_ways("gru", given, False)
    less = both_ways("gru", given, False, (True, False, False, True, True, True, True))
    assert less[3] is None and everything[3] is not None
    for k in (2, 5, 6, 7, 8):
        assert np.array_equal(less[k], everything[k])


def test_nan_stays_in_its_row():
    x, hx, cx, weights, g = draw("lstm", 3, 5, 4, 20)
    x[1, 2, 0] = np.nan
    out = rnn.forward("lstm", x, hx, cx, *weights, False)[0][0]
    assert np.isnan(out[1:, 2]).all() and not np.isnan(out[:1]).any() and not np.isnan(np.delete(out, 2, axis=1)).any()


def test_results_may_be_written_into():
    x, hx, cx, weights, g = draw("lstm", 3, 2, 4, 5)
    results, aux = rnn.forward("lstm", x, hx, cx, *weights, False)
    expected = rnn.backward("lstm", g, x, weights[0], weights[1], aux, (True,) * 7, False)
    for r in results:
        r[...] = 7
    for a, b in zip(rnn.backward("lstm", g, x, weights[0], weights[1], aux, (True,) * 7, False), expected, strict=True):
        assert np.array_equal(a, b)
