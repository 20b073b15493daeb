"""Bags of embeddings in two-byte floats: sums in float32, rounded once."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("counts", [[3, 2, 7], [0, 5, 0, 1], [12]])
def test_bags(dtype, mode, weighted, counts):
    if weighted and mode != "sum":
        return
    torch.manual_seed(0)
    table = torch.randn(10, 5).to(dtype)
    index = torch.randint(0, 10, (sum(counts),))
    offsets = torch.tensor([sum(counts[:k]) for k in range(len(counts))])
    scale = torch.rand(sum(counts)).to(dtype) if weighted else None
    found = []
    for kind in (dtype, torch.float32):
        weight = table.to(kind, copy=True).requires_grad_()
        given = None if scale is None else scale.to(kind)
        out = torch.nn.functional.embedding_bag(
            index, weight, offsets, mode=mode, per_sample_weights=given
        )
        out.sum().backward()
        found.append((out.detach().float(), weight.grad.float()))
    eps = torch.finfo(dtype).eps
    for got, want in zip(*found, strict=True):
        torch.testing.assert_close(got, want, rtol=2 * eps, atol=4 * eps)
