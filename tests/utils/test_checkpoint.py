"""Checkpointing: compiled beside eager, and what reentrant checkpoints refuse."""

import warnings

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils.checkpoint import checkpoint, checkpoint_sequential


def training(compiled, whole, reentrant, sequential, rate=0.0):
    torch.manual_seed(0)
    parts = [nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.Dropout(rate), nn.ReLU(True)) for _ in range(3)]
    net = nn.Sequential(*parts)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def forward(x):
        if sequential:
            return checkpoint_sequential(net, 2, x, use_reentrant=reentrant).pow(2).sum()
        for part in net:
            x = checkpoint(part, x, use_reentrant=reentrant)
        return x.pow(2).sum()

    if compiled and not whole:
        forward = run = torch.compile(forward)

    def step(x):
        optimizer.zero_grad()
        loss = forward(x)
        loss.backward()
        optimizer.step()
        return loss

    if compiled and whole:
        step = run = torch.compile(step)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for _ in range(4):
            x = torch.randn(4, 6, requires_grad=True)
            seen += [step(x).detach(), x.grad, torch.rand(1)]
    return seen + [p.detach() for p in net.parameters()], sum(v.hits for v in run.versions) if compiled else 0


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_compiled_is_eager(whole, reentrant, sequential, rate):
    expected, _ = training(False, whole, reentrant, sequential, rate)
    got, hits = training(True, whole, reentrant, sequential, rate)
    torch.testing.assert_close(got, expected)
    assert hits == (3 if rate == 0 and (whole or not reentrant) else 0)


@pytest.mark.parametrize("gradient", [lambda y, x: torch.autograd.grad(y, x), lambda y, x: y.backward(inputs=[x])])
def test_reentrant_checkpoints_refuse_gradients_of_some_leaves(gradient):
    w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = checkpoint(lambda v: v * w, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="incompatible with .grad\\(\\) or passing an `inputs` parameter"):
        gradient(y, x)
    assert w.grad is None and x.grad is None
    checkpoint(lambda v: v * w, x, use_reentrant=True).sum().backward()
    assert w.grad.tolist() == x.grad.tolist() == [1, 1]
