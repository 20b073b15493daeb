"""`autograd.functional` gives PyTorch's values and refusals."""

import numpy as np
import pytest

import pellucid
import pellucid.autograd.functional

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


CASES = {
    "vjp": lambda m, f, x, y: f.vjp(lambda a: a.exp() * y, x, y),
    "vjp two": lambda m, f, x, y: f.vjp(lambda a, b: (a * b, a.sum()), (x, y), (x, y.sum())),
    "jvp": lambda m, f, x, y: f.jvp(lambda a, b: (a * b).sin(), (x, y), (y, x)),
    "jvp graph": lambda m, f, x, y: f.jvp(lambda a: a**3, x.requires_grad_(), y, create_graph=True),
    "vhp": lambda m, f, x, y: f.vhp(lambda a: (a**3).sum() * a.sum(), x, y),
    "hvp": lambda m, f, x, y: f.hvp(lambda a, b: (a**3 * b).sum(), (x, y), (y, x)),
    "jacobian": lambda m, f, x, y: f.jacobian(lambda a: a.sin() * a.sum(), x),
    "jacobian two": lambda m, f, x, y: f.jacobian(lambda a, b: (a * b.sum(), b), (x, y)),
    "jacobian fast": lambda m, f, x, y: f.jacobian(
        lambda a, b: (a * b.sum(), b), (x, y), vectorize=True
    ),
    "jacobian forward": lambda m, f, x, y: f.jacobian(
        lambda a, b: (a * b.sum(), b * 2), (x, y), vectorize=True, strategy="forward-mode"
    ),
    "jacobian graph": lambda m, f, x, y: f.jacobian(
        lambda a: a**3, x.requires_grad_(), create_graph=True
    ),
    "hessian": lambda m, f, x, y: f.hessian(lambda a: (a**3).sum() * a.sum(), x),
    "hessian two": lambda m, f, x, y: f.hessian(lambda a, b: (a**3 * b).sum(), (x, y)),
    "hessian fast": lambda m, f, x, y: f.hessian(
        lambda a, b: (a**3 * b).sum(), (x, y), vectorize=True
    ),
    "hessian forward": lambda m, f, x, y: f.hessian(
        lambda a: (a**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_same_values(name):
    r = np.random.default_rng(0)
    x, y = r.standard_normal(3), r.standard_normal(3)
    theirs = flat(CASES[name](torch, torch.autograd.functional, torch.tensor(x), torch.tensor(y)))
    ours = flat(
        CASES[name](pellucid, pellucid.autograd.functional, pellucid.tensor(x), pellucid.tensor(y))
    )
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        assert a.requires_grad == b.requires_grad
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12)


REFUSED = [
    lambda m, f, x: f.vjp(lambda a: a, 3),
    lambda m, f, x: f.vjp(lambda a: a, (x, 3)),
    lambda m, f, x: f.vjp(lambda a: 3, x, x),
    lambda m, f, x: f.vjp(lambda a: a, x),
    lambda m, f, x: f.vjp(lambda a: a, x, m.ones(2)),
    lambda m, f, x: f.vjp(lambda a: a, x, (x, x)),
    lambda m, f, x: f.vjp(lambda a: m.ones(3), x, x, strict=True),
    lambda m, f, x: f.vjp(lambda a, b: a * 2, (x, x), x, strict=True),
    lambda m, f, x: f.vjp(lambda a: a * 2, x, x, strict=True, create_graph=True),
    lambda m, f, x: f.jvp(lambda a: a, x),
    lambda m, f, x: f.hvp(lambda a: a, x, x),
    lambda m, f, x: f.vhp(lambda a: (a, a), x, x),
    lambda m, f, x: f.vhp(lambda a: a.sum(), x, x, strict=True),
    lambda m, f, x: f.hessian(lambda a: a, x),
    lambda m, f, x: f.hessian(lambda a: a.sum(), x, strict=True),
    lambda m, f, x: f.jacobian(lambda a: a, x, strategy="x"),
    lambda m, f, x: f.jacobian(lambda a: a, x, strict=True, vectorize=True),
    lambda m, f, x: f.jacobian(lambda a: a, x, strategy="forward-mode"),
    lambda m, f, x: f.jacobian(
        lambda a: a, x, strategy="forward-mode", create_graph=True, vectorize=True
    ),
    lambda m, f, x: f.jacobian(lambda a, b: a, (x, x), strict=True),
]


@pytest.mark.parametrize("k", range(len(REFUSED)))
def test_same_refusals(k):
    got = []
    for m in (torch, pellucid):
        with pytest.raises(Exception) as info:
            REFUSED[k](m, m.autograd.functional, m.ones(3))
        got.append((type(info.value).__name__, str(info.value)))
    assert got[1] == got[0]
