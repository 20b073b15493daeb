"""Normal and gamma numbers drawn natively: the numbers, and the position in the stream, of the same
steps in Python.
"""

import numpy as np
import pytest

from pellucid import config
from pellucid.core.streams import distributions as random_distributions
from pellucid.core.streams import fill as random_fill
from pellucid.core.streams import reject as random_reject
from pellucid.core.streams.generator import Generator
from pellucid.kernels.random.draws import draws
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(
    not target.available() or draws().normals is None, reason="no compiler, or no C library"
)
ALPHA = np.concatenate(
    [[0.0, -1.0, np.nan, np.inf, 1.0, 1e-3, 0.999], np.geomspace(0.01, 1e4, 700)]
)


def both(draw, monkeypatch):
    """What `draw` gives with native code and without, each with the stream's state afterwards."""
    made = []
    for native in (True, False):
        monkeypatch.setattr(config, "kernels", native)
        generator = Generator().manual_seed(11)
        made.append([*draw(generator), generator.get_state()])
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gammas(dtype, monkeypatch):
    alpha = ALPHA.astype(dtype)

    def draw(generator):
        assert (generator.serial("normals", 1) is None) is not config.kernels
        generator.manual_seed(11)
        first = random_reject.standard_gamma(generator, alpha[alpha != np.inf])
        return (
            first,
            random_reject.dirichlet(generator, alpha[7:].reshape(-1, 7)),
            random_reject.standard_gamma(generator, alpha[7:].reshape(7, -1)[:, ::3]),
        )

    for a, b in zip(*both(draw, monkeypatch), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poisson_numbers(dtype, monkeypatch):
    rates = np.concatenate([[0.0, 1e-30, 9.999, 10.0], np.geomspace(1e-3, 1e6, 2500)]).astype(dtype)

    def draw(generator):
        yield random_reject.poisson(generator, rates)
        yield random_reject.poisson(generator, rates[:2500].reshape(50, 50).T)
        yield random_reject.poisson(generator, np.broadcast_to(dtype(3), (3, 400)))

    for a, b in zip(*both(draw, monkeypatch), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_binomial_numbers(dtype, monkeypatch):
    chances = [0.0, -1.0, 1.0, 2.0, np.nan, 1e-320, 1e-9, 0.5, *np.linspace(0.001, 0.999, 40)]
    trials = [0.0, -1.0, 1.0, 2.5, *np.geomspace(3, 1e8, 60).round()]

    def draw(generator):
        n, p = (np.array(values, dtype) for values in (trials, chances))
        yield random_reject.binomial(generator, n[:, None], p)
        yield random_reject.binomial(generator, n[:, None], p[8:])
        yield random_reject.binomial(
            generator, np.full((300,), 10, dtype), dtype(0.3)[()].reshape(1)
        )

    for a, b in zip(*both(draw, monkeypatch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_counts_take_native_code(monkeypatch):
    """Where there is native code, no number is made in Python."""
    monkeypatch.setattr(random_reject, "_poisson", None)
    monkeypatch.setattr(random_reject, "_binomial", None)
    generator = Generator().manual_seed(2)
    assert generator.serial("normals", 1) is not None
    rates = np.full(20_000, 12.0)
    assert abs(random_reject.poisson(generator, rates).mean() - 12) < 0.1
    assert abs(random_reject.binomial(generator, rates + 88, rates / 60).mean() - 20) < 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normals_one_by_one(dtype, monkeypatch):
    def draw(generator):
        for shape in ((3,), (), (4,), (2, 2), (15,), (1,)):
            yield random_fill.normal(generator, shape, 0.0, 1.0, np.dtype(dtype))
        yield random_fill.normal(generator, (5,), 2.0, 0.5, np.dtype(dtype))
        yield random_fill.normal(generator, np.empty((40, 30), dtype).T)

    for a, b in zip(*both(draw, monkeypatch), strict=True):
        np.testing.assert_array_equal(a, b)


def test_blocks_of_normals_and_functions_of_uniforms(monkeypatch):
    f8 = np.dtype(np.float64)

    def draw(generator):
        for shape in ((16,), (3, 37), (2000,), (40_000,)):
            yield random_fill.normal(generator, shape, 0.0, 1.0, f8)
        yield random_fill.normal(generator, (100,), 2.0, 0.5, f8)
        yield random_distributions.exponential(generator, (3000,), 1.5, f8)
        yield random_distributions.geometric(generator, (3000,), 0.3, f8)

    for a, b in zip(*both(draw, monkeypatch), strict=True):
        np.testing.assert_array_equal(a, b)
