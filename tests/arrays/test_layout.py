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
