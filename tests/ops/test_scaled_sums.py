"""`add` and `sub` with a factor."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_the_node_keeps_nothing(name):
    """So a second backward needs no `retain_graph`."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    y = getattr(torch, name)(a, b, alpha=2).sum()
    y.backward()
    assert y.grad_fn.next_functions[0][0].next_functions  # looking at it changes nothing
    y.backward()
    grads = {"add": (2, 4), "sub": (2, -4), "rsub": (-4, 2)}[name]
    assert (a.grad[0].item(), b.grad[0].item()) == grads
    node = y.grad_fn.next_functions[0][0]
    assert node.name() == f"{name.capitalize()}Backward0"
    assert all("Accumulate" in edge.name() for edge, _ in node.next_functions)


def test_a_factor_that_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        torch.ones(2).add(torch.ones(2), alpha=1e40)


def test_operands_are_rounded_to_the_result_first():
    wide, narrow = torch.tensor(-3.0078125), torch.ones(1, dtype=torch.bfloat16)
    assert torch.add(wide, narrow, alpha=2).item() == -1.0  # -3.0 in bfloat16
    assert torch.compile(lambda a, b: torch.sub(a, b, alpha=0.5))(narrow, narrow).item() == 0.5
