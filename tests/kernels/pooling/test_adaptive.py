import numpy as np
import pytest

from pellucid.kernels.pooling import adaptive as pool_adaptive
from pellucid.kernels.pooling import reference as pool_reference
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape, out",
    [
        ((2, 3, 10), (4,)),
        ((2, 3, 5), (7,)),
        ((1, 2, 9, 7), (4, 3)),
        ((2, 1, 4, 6), (2, 3)),
        ((1, 2, 4, 5, 6), (3, 2, 4)),
    ],
)
def test_windows_of_any_size(shape, out, dtype, thread_count):
    for holes in (0.0, 0.2, 1.0):
        x = np.round(RNG.standard_normal(shape) * 2).astype(dtype)  # with equals
        x[RNG.random(shape) < holes] = np.nan
        x[RNG.random(shape) < 0.3] = -np.inf
        for made, want in zip(
            pool_adaptive.adaptive_max(x, out),
            pool_reference.adaptive_max_pool(x, out),
            strict=True,
        ):
            np.testing.assert_array_equal(made, want)
            assert made.dtype == want.dtype


def test_what_has_no_kernel():
    assert pool_adaptive.adaptive_max(np.zeros((1, 1, 4), np.float16), (2,)) is None
    assert pool_adaptive.adaptive_max(np.zeros((0, 1, 4), np.float32), (2,)) is None
