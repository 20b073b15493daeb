"""Dropout draws its mask in the order of memory; compiled steps draw the same."""

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_the_mask_of_a_permuted_tensor(order):
    shape = (3, 4, 5)
    torch.manual_seed(0)
    plain = F.dropout(torch.ones(shape), 0.5)
    torch.manual_seed(0)
    permuted = F.dropout(torch.ones(shape).permute(order), 0.5)
    assert (
        torch.equal(permuted, plain.permute(order))
        and permuted.stride() == plain.permute(order).stride()
    )


def test_a_compiled_function_draws_the_same_masks():
    def run(x):
        return F.dropout(x.transpose(0, 1) * 2.0, 0.5).sum(0)

    compiled = torch.compile(run)
    x = torch.ones(6, 4)
    for k in range(4):
        torch.manual_seed(k)
        expected = run(x)
        torch.manual_seed(k)
        assert torch.equal(compiled(x), expected)


def test_the_mask_of_an_expanded_tensor():
    for shape in ((1, 6), (5, 1)):
        torch.manual_seed(0)
        plain = F.dropout(torch.ones(5, 6), 0.5)
        torch.manual_seed(0)
        expanded = F.dropout(torch.ones(shape).expand(5, 6), 0.5)
        assert torch.equal(expanded, plain) and expanded.is_contiguous()
