"""Checkpointing: compiled beside eager, and what reentrant checkpoints refuse."""

import functools
import warnings

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


def training(compiled, whole, reentrant, sequential, rate=0.0):
    torch.manual_seed(0)
    parts = [
        nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.Dropout(rate), nn.ReLU(True))
        for _ in range(3)
    ]
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
    return seen + [p.detach() for p in net.parameters()], sum(
        v.hits for v in run.versions
    ) if compiled else 0


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("sequential", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_compiled_is_eager(whole, reentrant, sequential, rate):
    expected, _ = training(False, whole, reentrant, sequential, rate)
    got, hits = training(True, whole, reentrant, sequential, rate)
    torch.testing.assert_close(got, expected)
    assert hits == (3 if rate == 0 and (whole or not reentrant) else 0)


@pytest.mark.parametrize(
    "gradient", [lambda y, x: torch.autograd.grad(y, x), lambda y, x: y.backward(inputs=[x])]
)
def test_reentrant_checkpoints_refuse_gradients_of_some_leaves(gradient):
    w, x = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    y = checkpoint(lambda v: v * w, x, use_reentrant=True).sum()
    with pytest.raises(
        RuntimeError, match="incompatible with .grad\\(\\) or passing an `inputs` parameter"
    ):
        gradient(y, x)
    assert w.grad is None and x.grad is None
    checkpoint(lambda v: v * w, x, use_reentrant=True).sum().backward()
    assert w.grad.tolist() == x.grad.tolist() == [1, 1]


def test_results_of_chosen_operators_are_kept_and_not_computed_again():
    from pellucid.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

    runs = []

    def policy(ctx, op, *args, **kwargs):
        runs.append((op, ctx.is_recompute, ctx.op_output is None))
        return (
            CheckpointPolicy.MUST_SAVE
            if op is torch.ops.aten.mm.default
            else CheckpointPolicy.PREFER_RECOMPUTE
        )

    x = torch.rand(3, 3, requires_grad=True)

    def step(a):
        return ((a @ a).sin() @ a).sum()

    step(x).backward()
    plain, x.grad = x.grad, None
    for chosen in (policy, [torch.ops.aten.mm.default]):
        contexts = functools.partial(create_selective_checkpoint_contexts, chosen)
        checkpoint(step, x, use_reentrant=False, context_fn=contexts).backward()
        assert torch.equal(x.grad, plain)
        x.grad = None
    assert [op for op, _, _ in runs].count(torch.ops.aten.mm.default) == 2
    assert not any(again or nothing for _, again, nothing in runs)
    with pytest.raises(
        ValueError, match="Expected op in `op_list` to be an OpOverload but got: aten.mm"
    ):
        create_selective_checkpoint_contexts([torch.ops.aten.mm])
    with pytest.raises(
        TypeError, match="policy_fn_or_list must be either a function or a list of ops."
    ):
        create_selective_checkpoint_contexts(3)


def test_a_kept_result_that_was_written_to_is_found():
    from pellucid.utils.checkpoint import create_selective_checkpoint_contexts

    x = torch.rand(2, 2, requires_grad=True)
    held = []

    def step(a):
        held.append(a @ a)
        return held[0].sin()

    made = checkpoint(
        step,
        x,
        use_reentrant=False,
        context_fn=lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm.default]),
    )
    with torch.no_grad():
        held[0].add_(1)
    with pytest.raises(
        RuntimeError, match="cached during selective activation checkpoint has been mutated"
    ):
        made.sum().backward()


def test_a_checkpoint_has_forward_derivatives():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    x, v = torch.randn(3, 4), torch.randn(3, 4)
    held = lambda t: checkpoint(net, t, use_reentrant=False)
    for wanted, found in zip(*(torch.func.jvp(f, (x,), (v,)) for f in (net, held)), strict=True):
        assert torch.equal(wanted, found)
    with torch.autograd.forward_ad.dual_level():
        dual = held(torch.autograd.forward_ad.make_dual(x, v))
        tangent = torch.autograd.forward_ad.unpack_dual(dual).tangent
    assert torch.equal(tangent, torch.func.jvp(net, (x,), (v,))[1])


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("again", [False, True])
def test_a_checkpointed_function_may_take_gradients_itself(stop, again):
    p = torch.arange(16.0).reshape(4, 4).div(16).requires_grad_()

    def forces(x):
        energy = (x @ p).sin().sum()
        force = torch.autograd.grad(energy, x, create_graph=again, retain_graph=True)[0]
        return force * 2 + x

    made = []
    for f in (forces, lambda x: checkpoint(forces, x, use_reentrant=False)):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        with set_checkpoint_early_stop(stop):
            f(f(x)).sum().backward()
        made.append((x.grad, p.grad))
        p.grad = None
    assert torch.equal(made[0][0], made[1][0])
    assert (made[0][1] is None) == (made[1][1] is None) == (not again)
    assert not again or torch.equal(made[0][1], made[1][1])
