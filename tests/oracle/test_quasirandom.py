"""Sobol sequences, number by number."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402


def both(make):
    return [make(m) for m in (torch, pellucid)]


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("dimension", [1, 2, 7, 40, 300])
def test_points(dimension, scramble):
    engines = both(lambda m: m.quasirandom.SobolEngine(dimension, scramble=scramble, seed=5))
    assert repr(engines[0]) == repr(engines[1])
    np.testing.assert_array_equal(engines[1].sobolstate.numpy(), engines[0].sobolstate.numpy())
    np.testing.assert_array_equal(engines[1].shift.numpy(), engines[0].shift.numpy())
    for n in (1, 2, 1, 70):
        expected, got = (e.draw(n) for e in engines)
        np.testing.assert_array_equal(got.numpy(), expected.numpy())
        np.testing.assert_array_equal(engines[1].quasi.numpy(), engines[0].quasi.numpy())
    for e in engines:
        e.fast_forward(1000)
    np.testing.assert_array_equal(engines[1].draw(3).numpy(), engines[0].draw(3).numpy())
    for e in engines:
        assert e.reset() is e
        e.fast_forward(5)
    a, b = (e.draw(11, dtype=m.float64) for e, m in zip(engines, (torch, pellucid)))
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    assert engines[0].num_generated == engines[1].num_generated


def test_the_last_dimension_there_is():
    a, b = both(lambda m: m.quasirandom.SobolEngine(21201).draw(40))
    np.testing.assert_array_equal(b.numpy(), a.numpy())


def test_scrambling_takes_its_numbers_from_the_global_stream():
    def points(m):
        m.manual_seed(1)
        return m.cat([m.quasirandom.SobolEngine(3, scramble=True).draw(4), m.rand(1, 3)]).numpy()

    a, b = both(points)
    np.testing.assert_array_equal(b, a)


def test_powers_of_two():
    for m in (torch, pellucid):
        engine = m.quasirandom.SobolEngine(2)
        assert engine.draw_base2(2).shape == (4, 2)
        out = m.empty(0)
        assert engine.draw_base2(2, out=out).shape == (4, 2) and out.shape == (4, 2)
    texts = []
    for m in (torch, pellucid):
        engine = m.quasirandom.SobolEngine(2)
        engine.draw(3)
        with pytest.raises(ValueError) as error:
            engine.draw_base2(3)
        texts.append(str(error.value))
        with pytest.raises(ValueError) as error:
            m.quasirandom.SobolEngine(0)
        texts.append(str(error.value))
    assert texts[:2] == texts[2:]
