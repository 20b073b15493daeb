"""Tensors without dimensions where functions take numbers and sizes."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("two", [torch.tensor(2), np.array(2), np.int64(2)])
def test_windows(two):
    x = torch.randn(1, 2, 6, 6)
    assert torch.equal(F.max_pool2d(x, two), F.max_pool2d(x, 2))
    assert torch.equal(F.avg_pool2d(x, two, stride=two), F.avg_pool2d(x, 2, stride=2))
    with pytest.raises(TypeError, match="len"):  # which asks it for its length
        F.adaptive_avg_pool2d(x, two)
    assert torch.equal(F.max_pool2d(x, [two, two]), F.max_pool2d(x, 2))


def test_sizes_of_grids():
    theta = torch.eye(2, 3)[None]
    size = [torch.tensor(n) for n in (1, 1, 4, 5)]
    made = F.affine_grid(theta, size, align_corners=False)
    assert torch.equal(made, F.affine_grid(theta, (1, 1, 4, 5), align_corners=False))


def test_orders_of_norms():
    x = torch.randn(3, 4)
    for order in (torch.tensor(3.0), np.float32(3), np.int64(3)):
        assert torch.equal(torch.linalg.vector_norm(x, order), torch.linalg.vector_norm(x, 3))
        assert torch.equal(torch.norm(x, order), torch.norm(x, 3))
    with pytest.raises(TypeError, match="'ord' .position 2. must be Number, not Tensor"):
        torch.linalg.vector_norm(x, torch.ones(2))
