"""Results of running functions lie in order in memory, whatever the order of the input, as in
PyTorch.
"""

import pytest

import pellucid as torch

BASE = torch.arange(24).reshape(2, 3, 4)
LAYOUTS = {
    "transposed": BASE.transpose(1, 2),
    "permuted": BASE.permute(2, 0, 1),
    "sliced": BASE[:, :, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "kind", [torch.float32, torch.float64, torch.bfloat16, torch.int64], ids=str
)
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_in_order(name, kind, layout):
    x = LAYOUTS[layout].to(kind)
    for dim in (0, -1):
        found, expected = getattr(torch, name)(x, dim), getattr(torch, name)(x.contiguous(), dim)
        for a, b in zip(
            *[[r] if isinstance(r, torch.Tensor) else r for r in (found, expected)], strict=True
        ):
            assert a.is_contiguous() and torch.equal(a, b)


def test_log_sum_exp():
    x = LAYOUTS["transposed"].double()
    assert torch.logcumsumexp(x, 1).is_contiguous()
