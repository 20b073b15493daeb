"""`torch.func`: derivatives and maps give PyTorch's values, and compose as PyTorch's do."""

import numpy as np
import pytest

import pellucid
import pellucid.func
from pellucid.core.public import FUNCTIONS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit:DeprecationWarning", "ignore::UserWarning"
)


def fn(m, name):
    return getattr(torch.nn.functional, name) if m is torch else FUNCTIONS["nn.functional"][name]


def compare(theirs, ours):
    if isinstance(theirs, (tuple, list)):
        assert len(theirs) == len(ours)
        for a, b in zip(theirs, ours, strict=True):
            compare(a, b)
    elif isinstance(theirs, dict):
        assert theirs.keys() == ours.keys()
        for key in theirs:
            compare(theirs[key], ours[key])
    else:
        assert theirs.requires_grad == ours.requires_grad
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-8, atol=1e-10
        )


CASES = {
    "mul": lambda m, f, a, b, c: f.vmap(lambda x, y: x * y + c)(a, b),
    "in_out": lambda m, f, a, b, c: f.vmap(lambda x, y: x @ y, in_dims=(1, None), out_dims=1)(
        a, c.expand(3, 4)
    ),
    "nest": lambda m, f, a, b, c: f.vmap(
        f.vmap(lambda x, y: x * y.sum(), in_dims=(0, None)), in_dims=(0, 0)
    )(a, b),
    "red": lambda m, f, a, b, c: f.vmap(
        lambda x: (x.sum(), x.mean(0), x.softmax(-1), x.max(0)[0], x.argmax())
    )(a),
    "psg": lambda m, f, a, b, c: f.vmap(
        f.grad(lambda w, x: ((x * w).sin().sum()) ** 2), in_dims=(None, 0)
    )(c, a),
    "grad2": lambda m, f, a, b, c: f.grad(lambda x: f.grad(lambda y: (y * x).sin().sum())(x).sum())(
        c
    ),
    "gv": lambda m, f, a, b, c: f.grad_and_value(lambda x: ((x**2).sum(), x * 2), has_aux=True)(c),
    "jacrev": lambda m, f, a, b, c: f.jacrev(lambda x: (x**3).sin() * x.sum())(c),
    "jacfwd": lambda m, f, a, b, c: f.jacfwd(lambda x: (x**3).sin() * x.sum())(c),
    "hess": lambda m, f, a, b, c: f.hessian(lambda x: (x**3).sum() * x.exp().sum())(c),
    "hess2": lambda m, f, a, b, c: f.jacrev(f.jacrev(lambda x: (x**3).sum() * x.exp().sum()))(c),
    "hess3": lambda m, f, a, b, c: f.jacfwd(f.jacfwd(lambda x: (x**3).sum() * x.exp().sum()))(c),
    "hess4": lambda m, f, a, b, c: f.jacrev(f.jacfwd(lambda x: (x**3).sum() * x.exp().sum()))(c),
    "vhess": lambda m, f, a, b, c: f.vmap(f.hessian(lambda x: (x**3).sum() * x.exp().sum()))(a),
    "jvp": lambda m, f, a, b, c: f.jvp(lambda x, y: x * y.sin(), (a, b), (b, a)),
    "jvp2": lambda m, f, a, b, c: f.jvp(
        lambda x: f.jvp(lambda y: (y**3) * x, (x,), (c,))[1], (c,), (c,)
    ),
    "vjp": lambda m, f, a, b, c: f.vjp(lambda x, y: (x * y, x.sum()), a, b)[1]((a, a.sum())),
    "argn": lambda m, f, a, b, c: f.jacrev(lambda x, y: (x * y.sum(), y * 2), argnums=(0, 1))(
        c, c * 2
    ),
    "argnf": lambda m, f, a, b, c: f.jacfwd(
        lambda x, y: {"p": x * y.sum(), "q": y * 2}, argnums=(1,)
    )(c, c * 2),
    "chunk": lambda m, f, a, b, c: f.vmap(lambda x: x * 2, chunk_size=2)(a),
    "inpl": lambda m, f, a, b, c: f.vmap(lambda x, y: x.clone().mul_(y)[1:].add_(1))(a, b),
    "mixed": lambda m, f, a, b, c: f.vmap(lambda v, z: f.jvp(lambda x: x * z, (c,), (v,))[1])(a, b),
    "dict": lambda m, f, a, b, c: f.vmap(lambda d: {"k": d["x"] + d["y"][0]})({"x": a, "y": (b,)}),
    "idx": lambda m, f, a, b, c: f.vmap(lambda x: x[m.tensor([0, 2])] + x[1] + x[:2])(a),
    "where": lambda m, f, a, b, c: f.vmap(lambda x, y: m.where(x > 0, x, y))(a, b),
    "cat": lambda m, f, a, b, c: f.vmap(lambda x, y: m.stack([m.cat([x, y]), m.cat([c, x])]))(a, b),
    "view": lambda m, f, a, b, c: f.vmap(
        lambda x: x.view(2, 2).t().reshape(-1).unsqueeze(0).expand(3, 4).sum(0)
    )(a),
    "scalar": lambda m, f, a, b, c: f.vmap(lambda x: x * 2.0 + c[0])(c.float()),
    "lin": lambda m, f, a, b, c: f.vmap(lambda x, w: fn(m, "linear")(x, w.reshape(2, 2), None))(
        a[:, :2], b
    ),
    "ce": lambda m, f, a, b, c: f.vmap(
        f.grad(lambda w, x, y: fn(m, "cross_entropy")((w * x).unsqueeze(0), y.unsqueeze(0))),
        in_dims=(None, 0, 0),
    )(c, a, m.tensor([0, 1, 2])),
    "conv": lambda m, f, a, b, c: f.vmap(
        f.grad(lambda w, x: fn(m, "conv2d")(x.reshape(1, 1, 2, 2), w, None).sin().sum()),
        in_dims=(None, 0),
    )(b[0, :1].reshape(1, 1, 1, 1), a),
    "cumsum": lambda m, f, a, b, c: f.vmap(lambda x: x.cumsum(0).sort(descending=True)[0])(a),
    "randsame": lambda m, f, a, b, c: f.vmap(
        lambda x: x * 0 + m.rand(4).double(), randomness="same"
    )(a).std(0),
    "batched_grad": lambda m, f, a, b, c: (
        lambda x: m.autograd.grad(x.sin(), x, a, is_grads_batched=True)
    )(c.clone().requires_grad_()),
    "outer": lambda m, f, a, b, c: (
        lambda w: m.autograd.grad(f.grad(lambda x: (x * w).sin().sum())(c).sum(), w)
    )(c.clone().requires_grad_()),
    "lin2": lambda m, f, a, b, c: f.linearize(lambda x: x.sin(), c)[1](c),
    "norm": lambda m, f, a, b, c: f.vmap(lambda x: (x.norm(), x.var(), x.std(0), x.prod()))(a),
    "inv": lambda m, f, a, b, c: f.vmap(
        lambda x: m.linalg.inv(x.reshape(2, 2) + 3 * m.eye(2, dtype=m.float64))
    )(a),
    "loop": lambda m, f, a, b, c: f.vmap(
        lambda x: m.logcumsumexp(x, 0) + fn(m, "pad")(x, (1, 1))[:4]
    )(a),
    "vmapdual": lambda m, f, a, b, c: f.jvp(lambda x: f.vmap(lambda y: y * c.sin())(x), (a,), (b,)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_same_values(name):
    r = np.random.default_rng(0)
    arrays = [r.standard_normal(s) for s in ((3, 4), (3, 4), (4,))]
    theirs = CASES[name](torch, torch.func, *map(torch.tensor, arrays))
    ours = CASES[name](pellucid, pellucid.func, *map(pellucid.tensor, arrays))
    compare(theirs, ours)


def messages(m, f):
    x = m.ones(3, 4)
    for call in (
        lambda: f.vmap(lambda a: a, in_dims="x")(x),
        lambda: f.vmap(lambda: 1)(),
        lambda: f.vmap(lambda a: a, in_dims=5)(x),
        lambda: f.vmap(lambda a: a)(3),
        lambda: f.vmap(lambda a, b: a)(x, m.ones(2)),
        lambda: f.vmap(lambda a: 3)(x),
        lambda: f.vmap(lambda a: a, randomness="x")(x),
        lambda: f.vmap(lambda a: a + m.rand(4))(x),
        lambda: f.vmap(lambda a: a if a.sum() > 0 else -a)(x),
        lambda: f.vmap(lambda a: a.sum().item())(x),
        lambda: f.grad(lambda a: a * 2)(x),
        lambda: f.grad(lambda a: 3)(x),
        lambda: f.grad(lambda a: a.sum(), argnums=2)(x),
        lambda: f.grad(lambda a: a.sum())(3),
        lambda: f.jvp(lambda a: a, x, x),
        lambda: f.jvp(lambda a: a, (x,), (3,)),
        lambda: f.jvp(lambda a: a, (x,), (x, x)),
        lambda: f.vjp(lambda a: a > 0, x),
        lambda: f.vmap(lambda a: a, chunk_size=0)(x),
        lambda: f.grad(lambda a: a.sum(), argnums=())(x),
        lambda: f.grad(lambda a: a.sum(), argnums=(0, 0))(x),
    ):
        try:
            call()
        except Exception as error:
            yield type(error).__name__, str(error)
        else:
            yield "nothing raised", ""


def test_same_refusals():
    for theirs, ours in zip(
        messages(torch, torch.func), messages(pellucid, pellucid.func), strict=True
    ):
        if "TreeSpec" in theirs[1] or "TreeSpec" in ours[1]:
            theirs, ours = (
                (theirs[0], theirs[1].split("TreeSpec")[0]),
                (ours[0], ours[1].split("TreeSpec")[0]),
            )
        assert ours == (
            theirs[0],
            theirs[1].replace("<class 'torch.Tensor'>", "<class 'pellucid.Tensor'>"),
        )


def test_random_numbers_differ_or_repeat_by_the_flag():
    x = pellucid.zeros(5, 3)
    different = pellucid.func.vmap(lambda a: a + pellucid.rand(3), randomness="different")(x)
    same = pellucid.func.vmap(lambda a: a + pellucid.rand(3), randomness="same")(x)
    assert len({tuple(row) for row in different.tolist()}) == 5
    assert len({tuple(row) for row in same.tolist()}) == 1


class Cube(pellucid.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.detach() ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx, t):
        return t * 3 * ctx.saved_tensors[0] ** 2


def test_custom_functions_take_part():
    x = pellucid.tensor([1.0, 2.0])
    f = pellucid.func
    assert f.vmap(f.grad(lambda a: Cube.apply(a)))(x).tolist() == [3.0, 12.0]
    assert f.jvp(Cube.apply, (x,), (x,))[1].tolist() == [3.0, 24.0]
    assert f.grad(lambda a: f.grad(lambda b: Cube.apply(b).sum())(a).sum())(x).tolist() == [
        6.0,
        12.0,
    ]


def test_writing_into_what_is_not_mapped_is_refused():
    with pytest.raises(RuntimeError, match=r"vmap: add_\(self, \*extra_args\) is not possible"):
        pellucid.func.vmap(lambda a: pellucid.ones(4).add_(a))(pellucid.ones(3, 4))


DRAWS = {
    "rand": lambda m, t: m.rand(4),
    "randn": lambda m, t: m.randn(4, dtype=m.float64),
    "randint": lambda m, t: m.randint(3, 90, (4,)),
    "randperm": lambda m, t: m.randperm(6),
    "normal of a size": lambda m, t: m.normal(0.0, 2.0, (4,)),
    "rand_like": lambda m, t: m.rand_like(t),
    "randn_like": lambda m, t: m.randn_like(t),
    "randint_like": lambda m, t: m.randint_like(t, 3, 90),
    "bernoulli": lambda m, t: m.bernoulli(t),
    "bernoulli of a number": lambda m, t: t.bernoulli(0.5),
    "normal": lambda m, t: m.normal(t, 2.0),
    "normal of two": lambda m, t: m.normal(t, m.ones(4)),
    "poisson": lambda m, t: m.poisson(t),
    "binomial": lambda m, t: m.binomial(8 * t, t),
    "multinomial": lambda m, t: m.multinomial(t, 2),
    "multinomial of rows": lambda m, t: m.multinomial(t.view(2, 2), 2),
    "gamma": lambda m, t: m._standard_gamma(t),
    "dirichlet": lambda m, t: m._sample_dirichlet(t),
    "dropout": lambda m, t: fn(m, "dropout")(t, 0.5),
    "dropout1d": lambda m, t: fn(m, "dropout1d")(t.view(2, 2), 0.5),
    "alpha_dropout": lambda m, t: fn(m, "alpha_dropout")(t, 0.5, True),
    "feature_alpha_dropout": lambda m, t: fn(m, "feature_alpha_dropout")(
        t.view(1, 2, 2), 0.5, True
    ),
    "native_dropout": lambda m, t: m.native_dropout(t, 0.5, True)[0],
    "gumbel_softmax": lambda m, t: fn(m, "gumbel_softmax")(t),
    "rrelu": lambda m, t: m.rrelu(t, training=True),
    "out=": lambda m, t: m.randn(4, out=m.empty(4)),
    "new_empty": lambda m, t: t.new_empty(4).normal_(),
    "empty": lambda m, t: m.empty(4).normal_(),
    "bernoulli_ of samples": lambda m, t: m.zeros(4).bernoulli_(t),
    "sample": lambda m, t: m.distributions.Normal(t, 1.0).sample(),
    "category": lambda m, t: m.distributions.Categorical(t, validate_args=False).sample(),
} | {
    name: lambda m, t, name=name, args=args: getattr(t.clone(), name)(*args)
    for name, args in {
        "random_": (50,),
        "uniform_": (),
        "normal_": (),
        "exponential_": (),
        "cauchy_": (),
        "log_normal_": (),
        "geometric_": (0.5,),
        "bernoulli_": (0.3,),
    }.items()
}


def drawn(m, func, draw, mode, dim):
    """What a draw gives for samples and for a tensor that they share, or the error's text."""
    x = m.full((3, 4), 0.5) if dim == 0 else m.full((4, 3), 0.5)
    for function, args, dims in (
        (lambda t: draw(m, t), (x,), dim),
        (lambda t, _: draw(m, t), (m.full((4,), 0.5), m.zeros(3)), (None, 0)),
    ):
        m.manual_seed(0)
        try:
            made = func.vmap(function, in_dims=dims, randomness=mode)(*args)
            yield str(made.dtype).partition(".")[2], made.tolist()
        except Exception as error:
            yield type(error).__name__, str(error).partition(". If said operator")[0]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("mode", ["error", "same", "different"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_inside_of_vmap(name, mode, dim):
    for theirs, ours in zip(
        drawn(torch, torch.func, DRAWS[name], mode, dim),
        drawn(pellucid, pellucid.func, DRAWS[name], mode, dim),
        strict=True,
    ):
        assert ours[0] == theirs[0]
        if isinstance(theirs[1], str):
            assert ours[1] == theirs[1]
        else:
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
