"""Rows that a cross entropy leaves out hide no NaN: their gradient is 0 times their softmax."""

import math

import pytest

import pellucid as torch
import pellucid.nn.functional as F

INF, NAN = math.inf, math.nan
ROWS = [
    [NAN, 1.0, 2.0],
    [1.0, 2.0, 3.0],
    [INF, 1.0, 2.0],
    [-INF, 1.0, 2.0],
    [-INF, -INF, -INF],
    [1.0, 2.0, NAN],
]
SPOILT = [True, False, True, False, True, True]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("times", [1, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("compiled", [False, True])
def test_ignored_rows_without_a_softmax(compiled, dtype, times, reduction):
    logits = torch.tensor([row * times for row in ROWS], dtype=dtype)
    target = torch.tensor([-100, 1, -100, -100, -100, -100])

    def slope(x):
        x = x.detach().requires_grad_()
        F.cross_entropy(x, target, reduction=reduction).sum().backward()
        return x.grad

    run = torch.compile(slope) if compiled else slope
    for _ in range(3):
        g = run(logits)
        assert g.isnan().all(1).tolist() == SPOILT
        assert (g[3] == 0).all() and (g[1] != 0).all()
