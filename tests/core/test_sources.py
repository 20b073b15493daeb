"""Which line made a tensor, and what recording it can be switched off with."""

from __future__ import annotations

import pytest

import pellucid as torch
from pellucid import config


def test_nodes_know_their_line():
    x = torch.ones(2, requires_grad=True)
    y = x * 2  # this line
    assert y.grad_fn.line.file == __file__
    assert y.grad_fn.line.text == "y = x * 2  # this line"


def test_lines_inside_modules_are_the_users():
    layer = torch.nn.Linear(2, 2)
    y = layer(torch.ones(1, 2))
    assert y.grad_fn.line.text == "y = layer(torch.ones(1, 2))"


def test_recording_lines_can_be_switched_off():
    x = torch.ones(2, requires_grad=True)
    with config.override(sources=False):
        y = x * 2
        z = torch.stack([y, y])
        assert y.grad_fn.line is None and z.grad_fn.line is None
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            y + torch.ones(3)
    assert (x * 2).grad_fn.line is not None
