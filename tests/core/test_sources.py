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


@pytest.mark.parametrize("through_view", [False, True])
def test_writes_to_what_a_node_kept_are_told_with_their_line(through_view):
    w = torch.ones(3, requires_grad=True)
    x = w * 2
    x.add_(1)  # nobody has kept it
    y = x * x
    (x[:2] if through_view else x).mul_(3)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    notes = "\n".join(caught.value.__notes__)
    assert "mul_ overwrote it at" in notes
    assert ".mul_(3)" in notes


def test_lines_of_writes_are_kept_where_somebody_may_ask():
    x = torch.ones(3)
    x.zero_()
    assert x._ver.writer == ("zero_", None)
    y = x.detach()
    x.zero_()
    assert x._ver.writer[1] is not None
    del y
