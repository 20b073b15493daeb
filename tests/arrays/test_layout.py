"""The order of dimensions in new memory."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.layout import laid_alike

LAYOUTS = {
    "plain": ((2, 3, 4), (12, 4, 1), (12, 4, 1)),
    "turned": ((2, 3, 4), (1, 2, 6), (1, 2, 6)),
    "rows repeated": ((2, 3, 4), (0, 4, 1), (12, 4, 1)),
    "columns repeated": ((2, 3, 4), (4, 0, 1), (12, 4, 1)),
    "last repeated": ((2, 3, 4), (3, 1, 0), (12, 4, 1)),
    "overlapping": ((2, 3, 4), (1, 1, 1), (1, 2, 6)),
    "with gaps": ((2, 3, 4), (2, 4, 12), (1, 2, 6)),
}


@pytest.mark.parametrize(("shape", "strides", "wanted"), LAYOUTS.values(), ids=LAYOUTS)
def test_new_memory_keeps_the_order(shape, strides, wanted):
    memory = np.arange(60.0)
    array = np.lib.stride_tricks.as_strided(memory, shape, [8 * s for s in strides])
    made = laid_alike(array, np.dtype(np.float32))
    assert made.dtype == np.float32 and made.strides == tuple(4 * s for s in wanted)
    x = torch.arange(60.0).as_strided(shape, strides)
    for like in (torch.zeros_like, torch.ones_like, torch.empty_like, torch.rand_like):
        assert like(x).stride() == wanted
    flipped = x.flip(1)
    assert flipped.stride() == wanted
    assert torch.equal(flipped, torch.stack([x[:, 2], x[:, 1], x[:, 0]], 1))


def test_the_first_operand_decides_how_a_result_lies():
    x, y = torch.ones(3, 2).t(), torch.ones(2, 3)
    for device in ("cpu", "meta"):
        a, b = x.to(device), y.to(device)
        made = [a + b, a.double() * b, torch.where(a > 0, b, a), torch.addcmul(a, b, b), a < b]
        assert [t.stride() for t in made] == [(1, 2)] * 5
        made = [b + a, b.double() * a, torch.where(b > 0, a, b), b.addcmul(a, a), b < a]
        assert [t.stride() for t in made] == [(3, 1)] * 5
        assert a.masked_fill(b > 0, 1).stride() == (3, 1)  # always contiguous
    assert torch.compile(lambda a, b: a + b)(x, y).stride() == (1, 2)
    assert torch.equal(torch.arange(6.0).view(3, 2).t() + y, torch.tensor([[1.0, 3, 5], [2, 4, 6]]))


def test_a_contiguous_copy_without_data():
    x = torch.empty(3, 2, device="meta").t()
    assert x.clone(memory_format=torch.contiguous_format).stride() == (3, 1)
    assert x.clone().stride() == (1, 2)
