"""What a recorded operation keeps: only values that a gradient somebody wants will read."""

import pytest

import pellucid as torch


def test_a_linear_map_keeps_its_input_only_for_its_weight():
    base = torch.randn(3, 8, requires_grad=True).clone()
    y = torch.nn.functional.linear(base[:, :4], torch.ones(2, 4))
    base.mul_(2)  # nothing of it is kept
    y.sum().backward()


def test_a_linear_map_keeps_its_weight_only_for_its_input():
    weight = torch.randn(2, 4, requires_grad=True)
    x = torch.randn(3, 4)
    y = torch.nn.functional.linear(x, weight)
    with torch.no_grad():
        weight.mul_(2)
    y.sum().backward()
    assert torch.allclose(weight.grad, x.sum(0).expand(2, 4))
    y = torch.nn.functional.linear(x, weight)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
