"""Reductions of permuted tensors give contiguous results, as PyTorch's do."""

import pytest

import pellucid as torch

CASES = {
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean((1, 2), keepdim=True),
    "prod": lambda x: x.prod(1),
    "amax": lambda x: x.amax(1),
    "max": lambda x: x.max(1).values,
    "min's places": lambda x: x.min(1).indices,
    "argmax": lambda x: x.argmax(1),
    "all": lambda x: (x > 0).all(1),
    "any": lambda x: (x > 0).any(1),
    "count_nonzero": lambda x: x.count_nonzero(1),
    "var": lambda x: x.var(1),
    "norm": lambda x: x.norm(dim=1),
    "logsumexp": lambda x: x.logsumexp(1),
    "nansum": lambda x: x.nansum(1),
}


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (8, 16, 24, 32)])
@pytest.mark.parametrize("name", CASES)
def test_the_result_can_be_viewed(name, size):
    x = torch.rand(size).permute(2, 1, 3, 0)
    made = CASES[name](x)
    assert made.is_contiguous()
    torch.testing.assert_close(made, CASES[name](x.contiguous()))
