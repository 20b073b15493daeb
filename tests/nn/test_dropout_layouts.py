"""Dropout draws its mask in the order of memory; compiled steps draw the same."""

import math

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


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(
    "order", [(1, 0), (1, 0, 2), (0, 2, 1), (2, 1, 0), (3, 2, 1, 0), (1, 0, 2, 3), (0, 3, 1, 2)]
)
def test_batch_norm_gives_memory_in_order_so_that_masks_are_those_of_pytorch(
    order, dtype, training
):
    """Whatever the memory of its argument, but for channels_last, which it keeps."""
    shape = (4, 6, 5, 3)[: len(order)]
    x = torch.arange(math.prod(shape), dtype=dtype).reshape(shape).sin().permute(order)
    channels = x.shape[1]
    mean, variance = torch.zeros(channels, dtype=dtype), torch.ones(channels, dtype=dtype)

    def run(x, mean, variance):
        y = F.batch_norm(x, mean, variance, training=training)
        (g,) = torch.autograd.grad((y * y.detach().cos()).sum(), x)
        return y.detach(), g, F.dropout(y.detach(), 0.5)

    compiled = torch.compile(run)
    last = order == (0, 3, 1, 2)
    for k in range(3):
        given = x.clone(memory_format=torch.preserve_format).requires_grad_()
        torch.manual_seed(k)
        made = run(given, mean.clone(), variance.clone())
        for t in made:
            assert t.is_contiguous(memory_format=torch.channels_last) if last else t.is_contiguous()
        plain = run(x.contiguous().requires_grad_(), mean.clone(), variance.clone())
        for a, b in zip(made[:2], plain[:2], strict=True):
            torch.testing.assert_close(a, b)
        torch.manual_seed(k)
        again = compiled(given, mean.clone(), variance.clone())
        for a, b in zip(made, again, strict=True):
            torch.testing.assert_close(a, b)
        assert [t.stride() for t in made[::2]] == [t.stride() for t in again[::2]]
