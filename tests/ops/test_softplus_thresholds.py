"""softplus where its threshold is no usual number."""

import math

import pytest

import pellucid as torch
import pellucid.nn.functional as F


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("compiled", [False, True])
def test_nothing_is_larger_than_a_nan(compiled, dtype):
    """All gradients were NaN."""

    def slope(x):
        x = x.detach().requires_grad_()
        F.softplus(x, threshold=math.nan).sum().backward()
        return x.grad

    x = torch.tensor([-3.0, 0.0, 2.0, 30.0], dtype=dtype)
    run = torch.compile(slope) if compiled else slope
    for _ in range(3):
        torch.testing.assert_close(run(x), x.sigmoid())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["beta", "threshold"])
def test_numbers_that_float32_does_not_hold(name, dtype):
    x = torch.ones(2, dtype=dtype)
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        F.softplus(x, **{name: 1e300})
    assert F.softplus(x.double(), threshold=1e300).isfinite().all()
    assert F.softplus(x, threshold=math.inf).isfinite().all()
