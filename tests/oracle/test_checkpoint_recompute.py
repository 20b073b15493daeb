"""`utils.checkpoint` gives the gradients of the plain function, saves nothing, and draws the same
random numbers twice.
"""

import numpy as np
import pytest

import pellucid
import pellucid.utils.checkpoint

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def gradients(m, reentrant):
    from importlib import import_module

    checkpoint = import_module(f"{m.__name__}.utils.checkpoint")
    m.manual_seed(0)
    x = m.linspace(-1, 1, 20, dtype=m.float64).requires_grad_()
    w = m.ones(20, dtype=m.float64).requires_grad_()
    runs = []

    def f(a, b):
        runs.append(1)
        return (a * b).sin() * m.rand(20, dtype=m.float64), (a * a).exp()

    y, z = checkpoint.checkpoint(f, x, w, use_reentrant=reentrant)
    after = m.rand(3)
    (y.sum() * z.sum()).backward()
    final = m.rand(3)
    steps = [m.sin, m.exp, lambda a: a * a, m.cos]
    checkpoint.checkpoint_sequential(steps, 2, x, use_reentrant=reentrant).sum().backward()
    return [t.detach().numpy() for t in (y, z, after, final, x.grad, w.grad)], len(runs)


@pytest.mark.parametrize("reentrant", [False, True])
def test_same_gradients(reentrant):
    theirs, ours = gradients(torch, reentrant), gradients(pellucid, reentrant)
    assert theirs[1] == ours[1] == 2
    for a, b in zip(theirs[0], ours[0], strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)


def test_nothing_is_saved_and_the_second_run_stops_early():
    calls = []

    def f(x):
        calls.append("start")
        y = x.sin().exp()
        z = y * 2
        calls.append("end")
        return z

    x = pellucid.ones(3, requires_grad=True)
    y = pellucid.utils.checkpoint.checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert calls == ["start", "end", "start"]
    y = pellucid.utils.checkpoint.checkpoint(f, x, use_reentrant=False, early_stop=False)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert calls[3:] == ["start", "end"] * 3


def test_second_derivatives_and_nesting():
    inner = pellucid.utils.checkpoint.checkpoint
    x = pellucid.tensor(0.5, dtype=pellucid.float64, requires_grad=True)
    y = inner(
        lambda a: inner(lambda b: b.sin(), a, use_reentrant=False).exp(), x, use_reentrant=False
    )
    (g,) = pellucid.autograd.grad(y, x, create_graph=True)
    (h,) = pellucid.autograd.grad(g, x)
    s, c = np.sin(0.5), np.cos(0.5)
    assert abs(g.item() - np.exp(s) * c) < 1e-12
    assert abs(h.item() - np.exp(s) * (c * c - s)) < 1e-12


def test_a_different_second_run_is_refused():
    toggle = []

    def f(x):
        toggle.append(1)
        return x.sin() if len(toggle) == 1 else (x * 2).sin().exp()

    x = pellucid.ones(3, requires_grad=True)
    y = pellucid.utils.checkpoint.checkpoint(f, x, use_reentrant=False, early_stop=False)
    with pytest.raises(RuntimeError, match="A different number of tensors was saved"):
        y.sum().backward()


def test_refusals():
    checkpoint = pellucid.utils.checkpoint.checkpoint
    x = pellucid.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        checkpoint(lambda x, a: x, x, a=1, use_reentrant=True)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(pellucid.sin, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(pellucid.sin, pellucid.ones(2), use_reentrant=True)
