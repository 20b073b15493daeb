"""The native loops over time against the same formulas in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid import config
from pellucid.arrays import rnn
from pellucid.llvm import target, threads

MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def draw(mode, steps, batch, inputs, size, biased=True, dtype=np.float32):
    rng = np.random.default_rng(steps * 1000 + batch * 100 + size)

    def array(*shape):
        return (rng.standard_normal(shape) * 0.5).astype(dtype)

    gates = GATES[mode] * size
    x, hx, cx = (
        array(steps, batch, inputs),
        array(batch, size),
        array(batch, size) if mode == "lstm" else None,
    )
    weights = [
        array(gates, inputs),
        array(gates, size),
        *((array(gates), array(gates)) if biased else (None, None)),
    ]
    g = [
        array(steps, batch, size),
        array(batch, size),
        *([array(batch, size)] if mode == "lstm" else []),
    ]
    return x, hx, cx, weights, g


def both_ways(mode, given, reverse, needs=(True,) * 7, sizes=None):
    x, hx, cx, weights, g = given
    needs = (
        *needs[:2],
        needs[2] and mode == "lstm",
        *needs[3:5],
        *(n and weights[2] is not None for n in needs[5:]),
    )
    results, aux = rnn.forward(mode, x, hx, cx, *weights, reverse, sizes)
    return [*results, *rnn.backward(mode, g, x, weights[0], weights[1], aux, needs, reverse, sizes)]


def packed(given, sizes):
    """The same arrays, the input and the gradient of the output without the rows that have ended."""
    x, hx, cx, weights, g = given
    x, first = (
        np.concatenate([step[:n] for step, n in zip(a, sizes, strict=True)]) for a in (x, g[0])
    )
    return x, hx, cx, weights, [first, *g[1:]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (3, 2, 5, 7), (4, 20, 8, 33), (2, 15, 3, 16), (5, 29, 4, 40)]
)
@pytest.mark.parametrize("dtype, error", [(np.float32, 2e-4), (np.float64, 1e-12)])
def test_native_equals_numpy(monkeypatch, mode, reverse, shape, dtype, error):
    for biased in (True, False):
        given = draw(mode, *shape, biased=biased, dtype=dtype)
        native = both_ways(mode, given, reverse)
        with monkeypatch.context() as patch:
            patch.setattr(config, "kernels", False)
            plain = both_ways(mode, given, reverse)
        for a, b in zip(native, plain, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.dtype == b.dtype == dtype
                np.testing.assert_allclose(a, b, rtol=error, atol=error)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(1,), (3,), (4, 4, 1), (29, 28, 17, 14, 1), (40, 20, 20, 1)])
def test_native_equals_numpy_on_packed_sequences(monkeypatch, mode, reverse, sizes):
    for size in (5, 40):
        given = packed(draw(mode, len(sizes), sizes[0], 6, size), sizes)
        for needs in ((True,) * 7, (True, False, False, True, True, True, True)):
            native = both_ways(mode, given, reverse, needs, sizes)
            with monkeypatch.context() as patch:
                patch.setattr(config, "kernels", False)
                plain = both_ways(mode, given, reverse, needs, sizes)
            for a, b in zip(native, plain, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("mode", MODES)
def test_packed_sequences_of_equal_lengths_are_a_batch(mode):
    given = draw(mode, 4, 6, 5, 24)
    for reverse in (False, True):
        whole = both_ways(mode, given, reverse)
        same = both_ways(mode, packed(given, (6,) * 4), reverse, sizes=(6,) * 4)
        for a, b in zip(same, whole, strict=True):
            assert (a is None and b is None) or np.array_equal(a.ravel(), b.ravel())


@pytest.mark.parametrize("sizes", [None, (23, 20, 9, 9, 2, 1)])
@pytest.mark.parametrize("mode", MODES)
def test_threads_do_not_change_a_bit(mode, sizes):
    given = draw(mode, 6, 23, 32, 96 if sizes is None else 192)
    given = given if sizes is None else packed(given, sizes)
    before = threads.get_num_threads()
    made = []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            made.append(both_ways(mode, given, False, sizes=sizes))
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
    assert (
        np.isnan(out[1:, 2]).all()
        and not np.isnan(out[:1]).any()
        and not np.isnan(np.delete(out, 2, axis=1)).any()
    )


def test_results_may_be_written_into():
    x, hx, cx, weights, g = draw("lstm", 3, 2, 4, 5)
    results, aux = rnn.forward("lstm", x, hx, cx, *weights, False)
    expected = rnn.backward("lstm", g, x, weights[0], weights[1], aux, (True,) * 7, False)
    for r in results:
        r[...] = 7
    for a, b in zip(
        rnn.backward("lstm", g, x, weights[0], weights[1], aux, (True,) * 7, False),
        expected,
        strict=True,
    ):
        assert np.array_equal(a, b)
