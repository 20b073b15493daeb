"""Arrays joined, and slices picked, by kernels; copies of pixels of few colors, and of bytes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.kernels.indexing import pieces, transpose
from pellucid.llvm import target, threads

pytestmark = pytest.mark.skipif(not target.available(), reason="needs native code")
KINDS = (np.uint8, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.bool_)


def numbers(shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2 if kind is np.bool_ else 100, shape).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_joined_is_concatenate(kind):
    for shapes, axis in (
        (((300, 7), (300, 33), (300, 1), (300, 0)), 1),
        (((40, 3, 50), (40, 5, 50)), 1),
        (((40, 9, 50), (40, 9, 131)), -1),
        (((16, 1024), (16, 1000)), 1),
    ):
        given = [numbers(s, kind, k) for k, s in enumerate(shapes)]
        made, expected = pieces.joined(given, axis), np.concatenate(given, axis)
        assert made.dtype == kind and made.flags.c_contiguous
        assert made.shape == expected.shape and made.tobytes() == expected.tobytes()


def test_what_is_not_joined():
    a = numbers((300, 40), np.float32)
    assert pieces.joined([a, a], 0) is None  # NumPy is as fast
    assert pieces.joined([a, a[:299]], 1) is None  # refused by NumPy
    assert pieces.joined([a, a.astype(np.float64)], 1) is None
    assert pieces.joined([a, a[:, ::2]], 1) is None
    assert pieces.joined([a[:2], a[:2]], 1) is None
    assert pieces.joined([a, a[None]], 1) is None


@pytest.mark.parametrize("kind", KINDS)
def test_picked_is_take(kind):
    for shape, axis in (((50, 70, 3), 1), ((30, 200), 1), ((100, 80), 0), ((5, 6, 40, 65), 2)):
        x = numbers(shape, kind)
        index = np.random.default_rng(1).integers(0, shape[axis], 150)
        made, expected = pieces.picked(x, axis, index), np.take(x, index, axis)
        assert made.shape == expected.shape and made.tobytes() == expected.tobytes()
        assert pieces.picked(x, axis, index - 1 - index.min()) is None  # outside
        assert pieces.picked(x, axis, index + shape[axis]) is None
        assert pieces.picked(x[::2], axis, index) is None


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_and_bytes_are_copied_in_order(kind):
    for shape, order in (
        ((3, 40, 50), (1, 2, 0)),
        ((4, 2, 41, 53), (0, 2, 3, 1)),
        ((2, 4, 19, 33), (0, 2, 3, 1)),
        ((129, 67), (1, 0)),
        ((2, 65, 3, 33), (0, 2, 3, 1)),
        ((2, 33, 40, 17), (0, 3, 1, 2)),
    ):
        x = numbers(shape, kind).transpose(order)
        for y in (x, x[::-1], x[1:]):
            made = transpose.in_order(y)
            assert made.flags.c_contiguous and made.tobytes() == y.tobytes(), shape
    some = numbers((3, 9000), kind).T
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(2)
        assert transpose.transposed(some).tobytes() == some.tobytes()
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("kind", (torch.float32, torch.float64, torch.bfloat16), ids=str)
@pytest.mark.parametrize("mode", ("nearest", "nearest-exact", "bilinear", "bicubic"))
def test_images_are_resampled_alike_in_both_formats(mode, kind):
    x = torch.linspace(-3, 3, 2 * 5 * 30 * 21).view(2, 5, 30, 21).to(kind)
    last = x.contiguous(memory_format=torch.channels_last)
    for size in ((61, 40), (17, 90), (30, 10)):
        made, other = (torch.nn.functional.interpolate(y, size=size, mode=mode) for y in (x, last))
        assert other.is_contiguous(memory_format=torch.channels_last) and made.equal(other)


def test_channels_are_joined_side_by_side():
    x = torch.arange(4 * 6 * 20 * 9, dtype=torch.int32).view(4, 6, 20, 9)
    last = x.contiguous(memory_format=torch.channels_last)
    for dim in range(-4, 4):
        made = torch.cat([last, last + 1], dim)
        assert made.is_contiguous(memory_format=torch.channels_last)
        assert made.equal(torch.cat([x, x + 1], dim))
    assert torch.cat([last, x], 1).equal(torch.cat([x, x], 1))
