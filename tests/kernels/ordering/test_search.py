import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.ordering import search
from pellucid.llvm import target
from pellucid.ops.reduce import search as public

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)


def by_hand(sequence, value, right):
    """One binary search, step by step."""
    low, high = 0, len(sequence)
    while low < high:
        middle = (low + high) // 2
        if sequence[middle] > value if right else sequence[middle] >= value:
            high = middle
        else:
            low = middle + 1
    return low


def cases(dtype):
    """Sequences in order, out of order, with equals and NaN; values as many."""
    floats = np.dtype(dtype).kind == "f"
    for length in (0, 1, 2, 3, 7, 8, 9, 100):
        for count in (1, 5, 8, 33):
            whole = RNG.integers(-9, 9, length).astype(dtype)
            values = RNG.integers(-10, 10, count).astype(dtype)
            yield np.sort(whole), values
            yield whole, values
            if floats:
                yield np.where(RNG.random(length) < 0.3, np.nan, whole).astype(dtype), values
                yield whole, np.where(RNG.random(count) < 0.3, np.nan, values).astype(dtype)
                yield whole / 0.7 * np.inf, values  # infinities, NaN for zeros


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_places_step_by_step(dtype, right, thread_count):
    for sequence, values in cases(dtype):
        want = [by_hand(sequence, v, right) for v in values]
        for kind in (np.int64, np.int32):
            made = search.places(sequence.astype(dtype), values, right, kind)
            assert made.dtype == kind
            assert made.tolist() == want
        assert public._by_numpy(sequence.astype(dtype), values, right).tolist() == want


@pytest.mark.parametrize("right", [False, True])
def test_a_sequence_for_each_row(right, thread_count):
    for shape, count in (((4, 6), 5), ((2, 3, 9), 17), ((3, 1), 1), ((2, 0), 3), ((700, 4), 3)):
        rows = np.sort(RNG.integers(-5, 5, shape).astype(np.float32), -1)
        values = RNG.integers(-6, 6, (*shape[:-1], count)).astype(np.float32)
        made = search.places(rows, values, right, np.int64)
        assert (made == public._by_numpy(rows, values, right)).all()
        side = "right" if right else "left"
        for at in np.ndindex(shape[:-1]):
            assert (made[at] == rows[at].searchsorted(values[at], side)).all()


def test_other_strides_and_many_values(thread_count):
    sequence = np.sort(RNG.standard_normal(200))[::2]
    values = RNG.standard_normal((3, 10_000)).T
    assert (search.places(sequence, values, False, np.int64) == sequence.searchsorted(values)).all()


def test_what_is_not_served():
    half = np.zeros(3, np.float16)
    assert search.places(half, half, False, np.int64) is None
    assert search.places(np.zeros(3), np.zeros(3, np.float32), False, np.int64) is None
    assert search.places(np.zeros(3), np.zeros(0), False, np.int64) is None


@pytest.mark.parametrize(
    "name",
    ["float16", "bfloat16", "uint8", "int8", "int16", "float32", "float64", "int32", "int64"],
)
def test_compiled_is_eager(name):
    edges = torch.tensor([0, 1, 1, 3, 2, 7]).to(getattr(torch, name))
    values = torch.arange(-1, 9).abs().to(getattr(torch, name))
    f = torch.compile(lambda e, v: (torch.searchsorted(e, v), torch.bucketize(v, e, right=True)))
    for _ in range(3):
        for ours, eager in zip(
            f(edges, values),
            (torch.searchsorted(edges, values), torch.bucketize(values, edges, right=True)),
            strict=True,
        ):
            assert ours.dtype is eager.dtype
            assert ours.tolist() == eager.tolist()
