"""Every distribution against PyTorch: samples, moments, densities and gradients; divergences, constraints, transforms."""

import inspect
import warnings

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
import torch.distributions as theirs  # noqa: E402

import pellucid  # noqa: E402
import pellucid.distributions as ours  # noqa: E402

RNG = np.random.default_rng(0)
REAL = RNG.uniform(-1.5, 1.5, (4, 3))
POSITIVE = RNG.uniform(0.4, 3.0, (4, 3))
LARGE = RNG.uniform(3.0, 9.0, (4, 3))
UNIT = RNG.uniform(0.05, 0.95, (4, 3))
SIMPLEX = POSITIVE / POSITIVE.sum(-1, keepdims=True)
MATRIX = np.tril(RNG.uniform(-1, 1, (4, 3, 3)), -1) + RNG.uniform(0.5, 2, (4, 3, 1)) * np.eye(3)
COVARIANCE = MATRIX @ MATRIX.swapaxes(-1, -2)
TALL = RNG.uniform(-1, 1, (4, 3, 2))
COUNT = np.array([[3.0], [5.0], [1.0], [8.0]])

PARAMETERS = [
    ("Bernoulli", {"probs": UNIT}),
    ("Bernoulli", {"logits": REAL}),
    ("Bernoulli", {"probs": 0.3}),
    ("Binomial", {"total_count": COUNT, "probs": UNIT}),
    ("Binomial", {"total_count": 6, "logits": REAL}),
    ("ContinuousBernoulli", {"probs": UNIT}),
    ("ContinuousBernoulli", {"logits": REAL / 100}),
    ("GeneralizedPareto", {"loc": REAL, "scale": POSITIVE, "concentration": UNIT - 0.4}),
    ("LKJCholesky", {"dim": 3, "concentration": POSITIVE}),
    ("LowRankMultivariateNormal", {"loc": REAL, "cov_factor": TALL, "cov_diag": POSITIVE}),
    ("LowRankMultivariateNormal", {"loc": REAL[0], "cov_factor": TALL[0], "cov_diag": POSITIVE}),
    ("Multinomial", {"total_count": 6, "probs": SIMPLEX}),
    ("Multinomial", {"total_count": 6, "logits": REAL}),
    ("NegativeBinomial", {"total_count": COUNT, "probs": UNIT}),
    ("NegativeBinomial", {"total_count": 4, "logits": REAL}),
    ("OneHotCategorical", {"probs": SIMPLEX}),
    ("OneHotCategoricalStraightThrough", {"logits": REAL}),
    ("RelaxedBernoulli", {"temperature": POSITIVE[0, :1], "probs": UNIT}),
    ("RelaxedOneHotCategorical", {"temperature": POSITIVE[0, :1], "logits": REAL}),
    ("VonMises", {"loc": REAL, "concentration": LARGE}),
    ("VonMises", {"loc": REAL, "concentration": POSITIVE}),
    ("Wishart", {"df": LARGE[:, 0] + 2, "covariance_matrix": COVARIANCE}),
    ("Wishart", {"df": 4.5, "scale_tril": MATRIX[0]}),
    ("Beta", {"concentration1": POSITIVE, "concentration0": LARGE}),
    ("Beta", {"concentration1": 0.5, "concentration0": 2.0}),
    ("Categorical", {"probs": SIMPLEX}),
    ("Categorical", {"logits": REAL}),
    ("Cauchy", {"loc": REAL, "scale": POSITIVE}),
    ("Chi2", {"df": POSITIVE}),
    ("Dirichlet", {"concentration": POSITIVE}),
    ("Dirichlet", {"concentration": POSITIVE[0] / 5}),
    ("Exponential", {"rate": POSITIVE}),
    ("FisherSnedecor", {"df1": POSITIVE, "df2": LARGE}),
    ("FisherSnedecor", {"df1": LARGE, "df2": POSITIVE}),
    ("Gamma", {"concentration": POSITIVE, "rate": LARGE}),
    ("Gamma", {"concentration": 2.0, "rate": 3.0}),
    ("Geometric", {"probs": UNIT}),
    ("Geometric", {"logits": REAL}),
    ("Gumbel", {"loc": REAL, "scale": POSITIVE}),
    ("Gumbel", {"loc": 1.0, "scale": 2.0}),
    ("HalfCauchy", {"scale": POSITIVE}),
    ("HalfNormal", {"scale": POSITIVE}),
    ("InverseGamma", {"concentration": LARGE, "rate": POSITIVE}),
    ("InverseGamma", {"concentration": POSITIVE, "rate": POSITIVE}),
    ("Kumaraswamy", {"concentration1": POSITIVE, "concentration0": LARGE}),
    ("Laplace", {"loc": REAL, "scale": POSITIVE}),
    ("LogNormal", {"loc": REAL, "scale": POSITIVE}),
    ("LogisticNormal", {"loc": REAL, "scale": POSITIVE}),
    ("MultivariateNormal", {"loc": REAL, "covariance_matrix": COVARIANCE}),
    ("MultivariateNormal", {"loc": REAL, "precision_matrix": COVARIANCE[0]}),
    ("MultivariateNormal", {"loc": REAL[0], "scale_tril": MATRIX}),
    ("Normal", {"loc": REAL, "scale": POSITIVE}),
    ("Normal", {"loc": 0.5, "scale": 2.0}),
    ("Pareto", {"scale": POSITIVE, "alpha": LARGE}),
    ("Pareto", {"scale": POSITIVE, "alpha": POSITIVE}),
    ("Poisson", {"rate": POSITIVE * 5}),
    ("StudentT", {"df": POSITIVE, "loc": REAL, "scale": POSITIVE}),
    ("StudentT", {"df": LARGE}),
    ("Uniform", {"low": REAL, "high": REAL + POSITIVE}),
    ("Weibull", {"scale": POSITIVE, "concentration": POSITIVE + 0.7}),
]
IDS = [f"{i}-{name}-{'-'.join(p)}" for i, (name, p) in enumerate(PARAMETERS)]


def tensors(library, parameters, dtype, grad=True):
    made = {}
    for name, value in parameters.items():
        if isinstance(value, np.ndarray):
            tensor = library.tensor(value, dtype=getattr(library, dtype))
            made[name] = tensor.requires_grad_(grad)
        else:
            made[name] = value
    return made


def pair(name, parameters, dtype="float64"):
    made = [tensors(lib, parameters, dtype) for lib in (pellucid, torch)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(ours, name)(**made[0]), getattr(theirs, name)(**made[1]), *made


def numpy(value):
    return value.detach().numpy()


def same(mine, wanted, rtol=1e-9, atol=1e-12):
    assert tuple(mine.shape) == tuple(wanted.shape)
    assert str(mine.dtype) == str(wanted.dtype)
    np.testing.assert_allclose(numpy(mine), numpy(wanted), rtol=rtol, atol=atol)


def same_gradients(mine, wanted, a, b, rtol, atol=1e-9):
    """Of a weighted sum of the values with respect to all parameters."""
    if not wanted.requires_grad:
        assert not mine.requires_grad
        return
    weights = np.cos(np.arange(numpy(wanted).size)).reshape(wanted.shape)
    (mine * pellucid.tensor(weights, dtype=mine.dtype)).sum().backward()
    (wanted * torch.tensor(weights, dtype=wanted.dtype)).sum().backward()
    for name in b:
        if isinstance(b[name], torch.Tensor) and b[name].grad is not None:
            grad = b[name].grad
            if not torch.isfinite(grad).all():
                continue
            np.testing.assert_allclose(a[name].grad.numpy(), grad.numpy(), rtol=rtol, atol=atol, err_msg=name)
        if isinstance(b[name], torch.Tensor):
            a[name].grad = b[name].grad = None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_samples(name, parameters, dtype):
    mine, wanted, a, b = pair(name, parameters, dtype)
    tight = 1e-9 if dtype == "float64" and any(isinstance(v, np.ndarray) for v in parameters.values()) else 2e-5
    for shape in ((), (5, 2)):
        pellucid.manual_seed(3)
        torch.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(mine.sample(shape), wanted.sample(shape), tight, 1e-6 if dtype == "float32" else 1e-9)
    assert mine.has_rsample == wanted.has_rsample
    if wanted.has_rsample:
        pellucid.manual_seed(4)
        torch.manual_seed(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, y = mine.rsample((3,)), wanted.rsample((3,))
        same(x, y, tight, 1e-6 if dtype == "float32" else 1e-9)
        if dtype == "float64":
            # PyTorch's implicit gradients of gamma samples are good to 1e-3.
            implicit = name in ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT", "Wishart")
            same_gradients(x, y, a, b, 1e-2 if implicit else 1e-7, 1e-2 if implicit else 1e-9)
    assert pellucid.rand(1).item() == torch.rand(1).item()


def value_of(name, wanted):
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wanted.sample((2,)).detach()


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_log_prob_and_its_gradients(name, parameters):
    mine, wanted, a, b = pair(name, parameters)
    value = value_of(name, wanted)
    v, w = pellucid.tensor(value.numpy(), requires_grad=True), value.clone().requires_grad_()
    p, q = mine.log_prob(v), wanted.log_prob(w)
    same(p, q, 1e-9)
    same_gradients(p, q, a | {"value": v}, b | {"value": w}, 1e-7)


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
@pytest.mark.parametrize("what", ["mean", "mode", "variance", "stddev", "entropy", "perplexity"])
def test_moments(name, parameters, what):
    mine, wanted, a, b = pair(name, parameters)
    try:
        expected = getattr(wanted, what)
        expected = expected() if callable(expected) else expected
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            found = getattr(mine, what)
            found()
        return
    found = getattr(mine, what)
    found = found() if callable(found) else found
    same(found, expected, 1e-9)
    if torch.isfinite(expected).all() and expected.requires_grad:
        same_gradients(found, expected, a, b, 1e-7)


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_cdf_and_icdf(name, parameters):
    mine, wanted, a, b = pair(name, parameters)
    value = value_of(name, wanted)
    for method, given in (("cdf", value), ("icdf", torch.full_like(value, 0.3) if value.is_floating_point() else value)):
        try:
            expected = getattr(wanted, method)(given)
        except (NotImplementedError, AttributeError):
            with pytest.raises((NotImplementedError, AttributeError)):
                getattr(mine, method)(pellucid.tensor(given.numpy()))
            continue
        found = getattr(mine, method)(pellucid.tensor(given.numpy()))
        same(found, expected, 1e-7)
        try:
            same_gradients(found, expected, a, b, 1e-6)
        except RuntimeError as error:  # neither library has this derivative
            assert "igamma" in str(error) or "not implemented" in str(error)


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_shapes_reprs_and_expansion(name, parameters):
    mine, wanted, *_ = pair(name, parameters)
    for m, w in ((mine, wanted), (mine.expand((2, *mine.batch_shape)), wanted.expand((2, *wanted.batch_shape)))):
        assert tuple(m.batch_shape) == tuple(w.batch_shape)
        assert tuple(m.event_shape) == tuple(w.event_shape)
        assert repr(m) == repr(w)
        assert repr(m.support) == repr(w.support) or "tensor" in repr(w.support)
        assert m.support.event_dim == w.support.event_dim
        assert m.support.is_discrete == w.support.is_discrete
        assert {k: repr(v) for k, v in m.arg_constraints.items() if "tensor" not in repr(v)} == {
            k: repr(v) for k, v in w.arg_constraints.items() if "tensor" not in repr(v)
        }
        value = value_of(name, w)
        same(m.log_prob(pellucid.tensor(value.numpy())), w.log_prob(value), 1e-9)
        pellucid.manual_seed(1)
        torch.manual_seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(m.sample(), w.sample(), 2e-5, 1e-6)
        assert m.has_enumerate_support == w.has_enumerate_support
        if w.has_enumerate_support:
            same(m.enumerate_support(), w.enumerate_support())
            same(m.enumerate_support(expand=False), w.enumerate_support(expand=False))


@pytest.mark.parametrize("name", theirs.__all__)
def test_signatures(name):
    mine, wanted = getattr(ours, name), getattr(theirs, name)
    if not inspect.isclass(wanted):
        return
    a, b = (inspect.signature(c.__init__).parameters for c in (mine, wanted))
    assert [(p.name, p.default) for p in a.values() if p.name != "validate_args"] == [
        (p.name, tuple(p.default) if isinstance(p.default, torch.Size) else p.default)
        for p in b.values()
        if p.name != "validate_args"
    ]


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_exponential_families(name, parameters):
    mine, wanted, a, b = pair(name, parameters)
    if not isinstance(wanted, theirs.ExponentialFamily):
        assert not isinstance(mine, ours.ExponentialFamily)
        return
    for x, y in zip(mine._natural_params, wanted._natural_params, strict=True):
        same(x, y)
    same(mine._log_normalizer(*mine._natural_params), wanted._log_normalizer(*wanted._natural_params))
