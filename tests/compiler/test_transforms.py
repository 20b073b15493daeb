"""`torch.func` inside compiled functions and around them: derivatives and batches of functions, and
parameters given as arguments.
"""

from __future__ import annotations

import warnings

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.compiler import CompileWarning
from pellucid.core import source
from pellucid.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vmap,
)
from pellucid.utils import _pytree as pytree


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))


net = model()
drops = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.3), nn.Linear(8, 1))
stacked, _ = stack_module_state([nn.Linear(3, 2) for _ in range(3)])
base = nn.Linear(3, 2).to("meta")


def detached(module=net):
    return {name: p.detach() for name, p in module.named_parameters()}


def u(x):
    return net(x).squeeze()


def loss(params, x, y, module=net):
    return F.mse_loss(functional_call(module, params, (x,)), y)


def x():
    return torch.randn(3)


def rows():
    return torch.randn(4, 3)


CASES = {
    "vmap": (vmap(u), lambda: (rows(),)),
    "vmap in chunks": (vmap(u, chunk_size=2), lambda: (rows(),)),
    "grad": (grad(u), lambda: (x(),)),
    "gradients of samples": (vmap(grad(u)), lambda: (rows(),)),
    "gradients of parameters": (grad(loss), lambda: (detached(), rows(), torch.randn(4, 1))),
    "gradients of parameters by samples": (
        vmap(grad_and_value(loss), (None, 0, 0)),
        lambda: (detached(), rows(), torch.randn(4, 1)),
    ),
    "samples with dropout": (
        vmap(grad(lambda p, a, b: loss(p, a, b, drops)), (None, 0, 0), randomness="different"),
        lambda: (detached(drops), rows(), torch.randn(4, 1)),
    ),
    "jacrev of parameters": (
        jacrev(lambda p, a: functional_call(net, p, (a,)).squeeze()),
        lambda: (detached(), x()),
    ),
    "jacfwd": (vmap(jacfwd(lambda a: net[0](a))), lambda: (rows(),)),
    "hessian": (hessian(u), lambda: (x(),)),
    "Laplacian": (lambda a: vmap(lambda r: hessian(u)(r).diagonal().sum())(a), lambda: (rows(),)),
    "jvp of a gradient": (lambda a, v: jvp(grad(u), (a,), (v,))[1], lambda: (x(), x())),
    "ensemble": (
        lambda a: vmap(lambda p, b: functional_call(base, p, (b,)), (0, None))(stacked, a),
        lambda: (rows(),),
    ),
    "jacobian": (
        lambda a: torch.autograd.functional.jacobian(lambda y: y.sin() * 2, a),
        lambda: (x(),),
    ),
    "jacobian forward": (
        lambda a: torch.autograd.functional.jacobian(
            torch.sin, a, strategy="forward-mode", vectorize=True
        ),
        lambda: (x(),),
    ),
    "functional hessian": (
        lambda a: torch.autograd.functional.hessian(lambda y: y.sin().sum(), a),
        lambda: (x(),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_transforms_are_part_of_the_program(name):
    function, draw = CASES[name]
    compiled = torch.compile(function)
    for k in range(4):
        torch.manual_seed(k)
        arguments = draw()
        stream = torch.get_rng_state()
        expected = function(*arguments)
        torch.set_rng_state(stream)
        with warnings.catch_warnings():
            warnings.simplefilter("error", CompileWarning)
            found = compiled(*arguments)
        for a, b in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(a, b)
    assert "1 traced version" in str(compiled.explain())


def test_the_reason_names_the_users_line():
    """Code that the library writes for gradient rules is no line of the user's."""
    rule = (torch.ones(2, requires_grad=True) * 2).grad_fn.plan.backward
    assert source.is_library(rule.__code__.co_filename)


def test_parameters_as_arguments_follow_training():
    """Arguments in the memory of parameters that the function also reaches: where they are, and
    where they are not any more.
    """
    own = model()

    def f(params, a):
        return functional_call(own, params, (a,)).sum() + own[0].weight.sum()

    compiled = torch.compile(f)
    a = rows()
    shared = detached(own)
    for _ in range(3):
        torch.testing.assert_close(compiled(shared, a), f(shared, a))
        with torch.no_grad():
            own[0].weight.add_(1.0)
    assert "1 traced version" in str(compiled.explain())
    moved = {name: p * 2 for name, p in shared.items()}
    for _ in range(2):
        torch.testing.assert_close(compiled(moved, a), f(moved, a))
    torch.testing.assert_close(compiled(shared, a), f(shared, a))
    own[0].weight.data = own[0].weight.data * 3  # the arguments are another tensor now
    torch.testing.assert_close(compiled(shared, a), f(shared, a))
    again = detached(own)
    torch.testing.assert_close(compiled(again, a), f(again, a))
    own[0].weight = nn.Parameter(torch.ones(8, 3))
    torch.testing.assert_close(compiled(again, a), f(again, a))


def test_arguments_in_the_memory_of_parameters_that_are_written():
    own = model()

    def f(w, a):
        with torch.no_grad():
            own[0].weight.mul_(1.5)
        return (w * 2).sum() + own(a).sum()

    compiled = torch.compile(f)
    other = model()
    other.load_state_dict(own.state_dict())
    for _ in range(4):
        a = rows()
        expected = (other[0].weight.detach() * 1.5 * 2).sum()
        with torch.no_grad():
            other[0].weight.mul_(1.5)
        torch.testing.assert_close(compiled(own[0].weight.detach(), a), expected + other(a).sum())
        torch.testing.assert_close(own[0].weight, other[0].weight)


def test_writes_to_parameters_between_forward_and_backward_are_noticed_through_arguments():
    own = model()
    compiled = torch.compile(lambda w, a: (w * a).sum() + 0 * own[0].weight.detach().sum())
    for _ in range(3):
        a = torch.ones(8, 3, requires_grad=True)
        out = compiled(own[0].weight.detach(), a)
        with torch.no_grad():
            own[0].weight.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_a_hessian_inside_a_training_step():
    losses = []
    for run in (lambda f: f, torch.compile):
        own = model()
        optimizer = torch.optim.Adam(own.parameters(), lr=0.01)

        @run
        def step(a, own=own, optimizer=optimizer):
            optimizer.zero_grad()
            found = (
                vmap(lambda r: hessian(lambda q: own(q).squeeze())(r).diagonal().sum())(a) ** 2
            ).mean()
            found.backward()
            optimizer.step()
            return found.detach()

        torch.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", CompileWarning)
            losses.append(torch.stack([step(rows()) for _ in range(5)]))
    torch.testing.assert_close(*losses)
