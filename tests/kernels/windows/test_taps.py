import numpy as np
import pytest

from pellucid.kernels.windows import taps

RNG = np.random.default_rng(0)


def matrix(table):
    """The table as (outputs, inputs)."""
    made = np.zeros((table.outputs, table.size))
    for t in range(len(table.index)):
        here = t < table.counts
        np.add.at(made, (np.flatnonzero(here), table.index[t, here]), table.weights[t, here])
    return made


def tables():
    index = RNG.integers(0, 9, (23, 3))
    yield taps.make_table(index, RNG.standard_normal((23, 3)), 9)
    yield taps.make_table(index[:, :1], None, 9)
    yield from taps.adaptive_tables((9, 9, 9), (4, 1, 9))


@pytest.mark.parametrize("shape", [(9,), (3, 9), (9, 5), (2, 9, 40), (2, 9, 3, 7)])
def test_products_with_the_matrix_of_a_table(shape, thread_count):
    axis = shape.index(9)
    for table in tables():
        for t in (table, table.transposed):
            drawn = RNG.standard_normal([t.size if d == axis else n for d, n in enumerate(shape)])
            for dtype, error in ((np.float32, 1e-5), (np.float64, 1e-13)):
                x = drawn.astype(dtype)
                want = np.moveaxis(np.tensordot(matrix(t), x, (1, axis)), 0, axis)
                np.testing.assert_allclose(taps.apply(x, axis, t), want, rtol=error, atol=error)


def test_the_transpose():
    for table in tables():
        np.testing.assert_allclose(matrix(table.transposed), matrix(table).T, atol=1e-6)


def test_infinite_elements_reach_only_who_reads_them():
    (table,) = taps.adaptive_tables((9,), (4,))
    x = np.ones((1, 9), np.float32)
    x[0, 0] = np.inf
    assert np.isfinite(taps.apply(x, 1, table)).tolist() == [[False, True, True, True]]


def test_shrinking_dimensions_come_first():
    grow, shrink = taps.adaptive_tables((4,), (8,))[0], taps.adaptive_tables((8,), (2,))[0]
    steps = taps.sequence((3, 4, 8), [grow, shrink])
    assert [(axis, shape) for axis, _, shape in steps] == [(2, (3, 4, 2)), (1, (3, 8, 2))]


def test_what_is_not_served():
    (table,) = taps.adaptive_tables((4,), (2,))
    assert taps.apply(np.ones((2, 4), np.int64), 1, table) is None
    assert taps.apply(np.ones((0, 4), np.float32), 1, table) is None
