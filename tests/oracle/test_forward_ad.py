"""Forward mode gives PyTorch's tangents, alone and together with reverse mode."""

import numpy as np
import pytest

import pellucid
import pellucid.autograd.forward_ad
from pellucid.core.public import FUNCTIONS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit:DeprecationWarning", "ignore::UserWarning"
)
rng = np.random.default_rng(0)


def fn(m, name):
    return getattr(torch.nn.functional, name) if m is torch else FUNCTIONS["nn.functional"][name]


def real(*shape):
    return rng.standard_normal(shape), rng.standard_normal(shape)


def cplx(*shape):
    a, b, c, d = (rng.standard_normal(shape) for _ in range(4))
    return a + 1j * b, c + 1j * d


def writes(m, x, y):
    z = x.clone()
    z[0].mul_(y[1])
    z.add_(1)
    z.view(-1)[::2] = y.reshape(-1)[::2]
    return z * x


CASES = [
    (lambda m, x, y: x * y, real(3, 4), real(4)),
    (lambda m, x, y: x / y, real(3, 4), real(3, 1)),
    (lambda m, x: x.exp().sum(0), real(3, 4)),
    (lambda m, x, y: x @ y, real(3, 4), real(4, 5)),
    (lambda m, x: m.softmax(x, -1), real(3, 4)),
    (lambda m, x: x.max(dim=1)[0], real(3, 4)),
    (lambda m, x: x.var(), real(3, 4)),
    (lambda m, x: m.linalg.inv(x), real(3, 3)),
    (lambda m, x: m.linalg.qr(x)[0], real(4, 3)),
    (lambda m, x, y: x * y, cplx(3, 4), cplx(4)),
    (lambda m, x: x.abs(), cplx(3)),
    (lambda m, x: x.exp(), cplx(3)),
    (lambda m, x, y: m.complex(x, y), real(3), real(3)),
    (writes, real(3, 4), real(3, 4)),
    (lambda m, x: x**3 + 2 * x - 1, real(3)),
    (lambda m, x, y: m.where(x > 0, x, y), real(3, 4), real(4)),
    (lambda m, x, y: m.cat([x, y, m.ones(1, 4, dtype=m.float64)]), real(3, 4), real(2, 4)),
    (lambda m, x: x[m.tensor([0, 2])], real(3, 4)),
    (lambda m, x: x.sort(0)[0], real(3, 4)),
    (lambda m, x: x.cumprod(1), real(3, 4)),
    (lambda m, x: x.logsumexp(1), real(3, 4)),
    (lambda m, x: x.float() * 2, real(3)),
    (lambda m, x, y: m.atan2(x, y), real(3), real(3)),
    (lambda m, x, y: x.addcmul(x, y), real(3), real(3)),
    (lambda m, x: x.prod(0), real(3, 4)),
    (lambda m, x: m.linalg.det(x), real(3, 3)),
    (lambda m, x: x.norm(), real(3, 3)),
    (lambda m, x: m.linalg.eigh(x + x.T)[0], real(3, 3)),
    (lambda m, x, w: fn(m, "conv2d")(x, w), real(2, 3, 5, 5), real(4, 3, 3, 3)),
    (lambda m, x: fn(m, "max_pool2d")(x, 2), real(2, 3, 4, 4)),
    (lambda m, x: fn(m, "layer_norm")(x, (4,)), real(3, 4)),
]


@pytest.mark.parametrize("k", range(len(CASES)))
def test_same_tangents(k):
    function, *inputs = CASES[k]
    got = []
    for m in (torch, pellucid):
        forward = m.autograd.forward_ad
        with forward.dual_level():
            y = function(m, *[forward.make_dual(m.tensor(x), m.tensor(v)) for x, v in inputs])
            got.append([part.detach().numpy() for part in forward.unpack_dual(y)])
    np.testing.assert_allclose(got[1][0], got[0][0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(got[1][1], got[0][1], rtol=1e-6, atol=1e-12)


def test_forward_over_reverse_and_reverse_over_forward():
    got = []
    for m in (torch, pellucid):
        forward = m.autograd.forward_ad
        x = m.tensor([1.0, 2.0, 3.0], dtype=m.float64)
        v = m.tensor([1.0, 0.0, 1.0], dtype=m.float64)
        with forward.dual_level():
            dual = forward.make_dual(x.clone().requires_grad_(), v)
            (g,) = m.autograd.grad((dual.sin() * dual).sum().exp(), dual)
            first = forward.unpack_dual(g).tangent.detach().numpy()
        leaf = x.clone().requires_grad_()
        with forward.dual_level():
            dual = forward.make_dual(leaf, v)
            slope = forward.unpack_dual((dual.sin() * dual).sum().exp()).tangent
            second = m.autograd.grad(slope, leaf)[0].detach().numpy()
        got.append((first, second))
        np.testing.assert_allclose(first, second)
    np.testing.assert_allclose(got[0], got[1])


def test_levels_end():
    forward = pellucid.autograd.forward_ad
    x = pellucid.ones(2)
    with forward.dual_level():
        dual = forward.make_dual(x, x)
        with pytest.raises(
            RuntimeError, match="Nested forward mode AD is not supported at the moment"
        ):
            forward.enter_dual_level()
        assert repr(dual) == "tensor([1., 1.], tangent=tensor([1., 1.]))"
    assert repr(dual) == "tensor([1., 1.])"
    assert forward.unpack_dual(dual).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        forward.make_dual(x, x)


def test_gradcheck_in_forward_mode():
    x = pellucid.tensor([0.3, -1.2], dtype=pellucid.float64, requires_grad=True)
    assert pellucid.autograd.gradcheck(lambda a: (a.sin() * a, a.sum()), x, check_forward_ad=True)
