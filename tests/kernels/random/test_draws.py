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
