"""Evenly spaced numbers are those of NumPy's products and sums, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from pellucid import config
from pellucid.kernels.indexing.line import spaced
from pellucid.ops.create.ranges import line_of


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_the_numbers_are_those_without_a_kernel(kind, monkeypatch):
    dtype = np.dtype(kind)
    rng = np.random.default_rng(0)
    for n in (2, 3, 7, 8, 9, 17, 1000, 1025, 40_001):
        for first, last in rng.uniform(-1e3, 1e3, (4, 2)).tolist():
            made = line_of(first, last, n, dtype)
            with monkeypatch.context() as patch:
                patch.setattr(config, "kernels", False)
                wanted = line_of(first, last, n, dtype)
            assert made.tobytes() == wanted.tobytes()
            assert made[0] == dtype.type(first) and made[-1] == dtype.type(last)


def test_dtypes_that_are_not_served():
    assert spaced(4, 0.0, 3.0, np.dtype(np.float16)) is None
