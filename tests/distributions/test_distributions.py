"""Distributions by their own laws: samples have the moments, densities integrate to one, transforms
invert.
"""

import copy
import math
import pickle

import numpy as np
import pytest

import pellucid as torch
from pellucid import distributions as d

POSITIVE = torch.tensor([0.7, 1.5, 3.0])
REAL = torch.tensor([-1.0, 0.0, 2.0])

CONTINUOUS = [
    d.Beta(POSITIVE + 1, POSITIVE + 0.5),
    d.Chi2(POSITIVE + 3),
    d.ContinuousBernoulli(torch.tensor([0.1, 0.5, 0.7])),
    d.Exponential(POSITIVE),
    d.FisherSnedecor(POSITIVE + 3, POSITIVE + 9),
    d.Gamma(POSITIVE + 1, POSITIVE),
    d.GeneralizedPareto(REAL, POSITIVE, torch.tensor([-0.2, 0.0, 0.1])),
    d.Gumbel(REAL, POSITIVE),
    d.HalfNormal(POSITIVE),
    d.InverseGamma(POSITIVE + 6, POSITIVE),
    d.Kumaraswamy(POSITIVE + 1, POSITIVE + 1),
    d.Laplace(REAL, POSITIVE),
    d.LogNormal(REAL, POSITIVE / 6),
    d.Normal(REAL, POSITIVE),
    d.Pareto(POSITIVE, POSITIVE + 8),
    d.StudentT(POSITIVE + 9, REAL, POSITIVE),
    d.Uniform(REAL, REAL + POSITIVE),
    d.Weibull(POSITIVE, POSITIVE + 1),
]
DISCRETE = [
    d.Bernoulli(torch.tensor([0.2, 0.5, 0.9])),
    d.Binomial(5, torch.tensor([0.2, 0.5, 0.9])),
    d.Geometric(torch.tensor([0.3, 0.5, 0.9])),
    d.NegativeBinomial(4, torch.tensor([0.2, 0.5, 0.6])),
    d.Poisson(POSITIVE),
]


def name(distribution):
    return type(distribution).__name__


@pytest.mark.parametrize("dist", CONTINUOUS + DISCRETE, ids=name)
def test_samples_have_the_moments(dist):
    torch.manual_seed(0)
    x = dist.sample((6000,)).double()
    spread = (dist.variance / 6000).sqrt()
    assert bool(((x.mean(0) - dist.mean).abs() < 4.5 * spread).all())
    np.testing.assert_allclose(x.std(0).numpy(), dist.stddev.numpy(), rtol=0.15)
    assert bool(dist.support.check(x).all())


@pytest.mark.parametrize("dist", CONTINUOUS, ids=name)
def test_densities_integrate_to_the_distribution_function(dist):
    torch.manual_seed(1)
    low, high = dist.sample((4000,)).quantile(torch.tensor([0.1, 0.8]), dim=0)
    x = low + (high - low) * torch.linspace(0, 1, 2001).unsqueeze(-1)
    mass = torch.trapezoid(dist.log_prob(x).exp().double(), x.double(), dim=0)
    try:
        wanted = (dist.cdf(high) - dist.cdf(low)).double()
    except NotImplementedError:
        wanted = torch.full_like(mass, 0.7)
    np.testing.assert_allclose(mass.numpy(), wanted.numpy(), rtol=0.05)


@pytest.mark.parametrize("dist", DISCRETE, ids=name)
def test_probabilities_sum_to_one(dist):
    values = (
        dist.enumerate_support() if dist.has_enumerate_support else torch.arange(80.0).unsqueeze(-1)
    )
    np.testing.assert_allclose(dist.log_prob(values).exp().sum(0).numpy(), 1.0, rtol=1e-4)


@pytest.mark.parametrize("dist", CONTINUOUS + DISCRETE, ids=name)
def test_copies_and_pickles(dist):
    for other in (copy.deepcopy(dist), pickle.loads(pickle.dumps(dist))):  # noqa: S301
        torch.manual_seed(2)
        x = dist.sample()
        torch.manual_seed(2)
        assert torch.equal(other.sample(), x)
        assert torch.equal(other.log_prob(x), dist.log_prob(x))


def test_one_distribution_serves_many_steps():
    loc = torch.zeros(3, requires_grad=True)
    dist = d.Normal(loc, torch.ones(3, requires_grad=True))
    for _ in range(3):
        (-dist.log_prob(torch.ones(3))).sum().backward()
    np.testing.assert_allclose(loc.grad.numpy(), -3.0)


def test_samples_carry_no_gradient_and_rsamples_do():
    dist = d.MultivariateNormal(torch.zeros(2, requires_grad=True), torch.eye(2))
    assert not dist.sample().requires_grad
    assert dist.rsample().requires_grad


def test_wishart_samples_have_gradients():
    torch.manual_seed(0)
    factor = torch.eye(2, dtype=torch.float64, requires_grad=True)
    dist = d.Wishart(torch.tensor(5.0, dtype=torch.float64), scale_tril=factor)
    x = dist.rsample((2000,))
    np.testing.assert_allclose(x.mean(0).detach().numpy(), dist.mean.detach().numpy(), atol=0.4)
    (sampled,) = torch.autograd.grad(x.mean(0).sum(), factor)
    (exact,) = torch.autograd.grad(dist.mean.sum(), factor)
    np.testing.assert_allclose(sampled.tril().numpy(), exact.tril().numpy(), atol=1.0)


def test_divergences_where_the_support_fits():
    # Of uniform numbers from themselves, written two ways, and of others that reach outside.
    half = d.ContinuousBernoulli(0.5)
    unit = d.Uniform(0.0, 1.0)
    assert abs(d.kl_divergence(half, unit).item()) < 1e-6
    assert abs(d.kl_divergence(unit, half).item()) < 1e-6
    assert d.kl_divergence(half, d.Uniform(0.5, 1.0)).item() == math.inf
    assert d.kl_divergence(d.Uniform(-1.0, 1.0), half).item() == math.inf


def test_divergences_of_families_keep_gradients():
    df = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
    eye = torch.eye(2, dtype=torch.float64)
    value = d.kl_divergence(
        d.Wishart(df, eye), d.Wishart(torch.tensor(6.0, dtype=torch.float64), eye)
    )
    (slope,) = torch.autograd.grad(value, df)
    assert value.item() > 0 > slope.item()


def test_subclasses_find_the_nearest_divergence():
    class Mine(d.Normal):
        pass

    p = Mine(0.0, 1.0)
    assert d.kl_divergence(p, d.Normal(1.0, 1.0)).item() == 0.5

    @d.register_kl(Mine, Mine)
    def divergence(p, q):
        return torch.tensor(42.0)

    assert d.kl_divergence(p, Mine(0.0, 1.0)).item() == 42.0
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
        d.register_kl(3, Mine)


def test_a_subclass_with_its_own_constructor_must_expand_itself():
    class Unit(d.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
        Unit().expand((2,))


def test_checks_can_be_switched_off():
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0
    before = d.Distribution._validate_args
    try:
        d.Distribution.set_default_validate_args(False)
        assert d.Bernoulli(1.5).probs.item() == 1.5
    finally:
        d.Distribution.set_default_validate_args(before)
    with pytest.raises(ValueError, match="expected True or False"):
        d.Distribution.set_default_validate_args("no")


def test_a_lazy_parameter_is_computed_once_and_differentiable():
    logits = torch.zeros(2, requires_grad=True)
    dist = d.Bernoulli(logits=logits)
    assert "probs" not in dist.__dict__
    with torch.no_grad():
        probs = dist.probs
    assert dist.probs is probs
    assert probs.requires_grad
    assert isinstance(d.Bernoulli.probs, property)


def test_triangles_as_vectors():
    for diag, count in ((-1, 6.0), (0, 10.0)):
        vec = torch.arange(count)
        mat = d.utils.vec_to_tril_matrix(vec, diag)
        assert mat.shape == (4, 4)
        assert torch.equal(d.utils.tril_matrix_to_vec(mat, diag), vec)
    with pytest.raises(ValueError, match="provided is outside"):
        d.utils.tril_matrix_to_vec(torch.zeros(2, 2), 3)


def test_a_cached_transform_gives_back_the_very_value():
    transform = d.TanhTransform(cache_size=1)
    x = torch.tensor([20.0])
    assert transform.inv(transform(x)) is x
    assert d.TanhTransform().inv(d.TanhTransform()(x)).item() == math.inf


def test_policy_gradient_example():
    logits = torch.zeros(1, 2, requires_grad=True)
    torch.manual_seed(0)
    m = d.Categorical(logits=logits)
    action = m.sample()
    (-m.log_prob(action) * 2.0).sum().backward()
    other = 1 - action.item()
    assert logits.grad[0, action.item()].item() == -1.0
    assert logits.grad[0, other].item() == 1.0


@pytest.mark.parametrize(
    "name",
    [
        "lower_triangular",
        "lower_cholesky",
        "corr_cholesky",
        "positive_definite",
        "nonnegative_integer",
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_quick_answers_are_those_of_the_constraint(name, dtype):
    from pellucid.distributions._validity import holds

    constraint = getattr(d.constraints, name)
    eye = torch.eye(3, dtype=dtype)
    lower = torch.tensor([[1.0, 0, 0], [0.6, 0.8, 0], [0.0, 0.6, 0.8]], dtype=dtype)
    changed = [eye, -eye, lower, lower @ lower.mT, 2 * lower, eye.expand(4, 3, 3), lower.mT]
    for value in (float("nan"), float("inf"), -float("inf"), 1e-7, 0.5, -3.0):
        for place in ((0, 0), (0, 2), (2, 0), (2, 2)):
            one = lower.clone()
            one[place] = value
            both = torch.stack([eye, (lower @ lower.mT).clone()])
            both[1][place] = both[1][place[::-1]] = value
            changed += [one, both, both[1]]
    answers = set()
    for value in changed:
        answers.add(holds(constraint, value))
        assert holds(constraint, value) == bool(constraint.check(value).all()), value
    assert answers == {True, False}
