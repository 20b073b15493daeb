"""Every distribution against PyTorch: samples, moments, densities and gradients; divergences,
constraints, transforms.
"""

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
    if name == "GeneralizedPareto":  # PyTorch 2.13 compares the concentration with a float32 zero
        dtype = "float32"
    made = [tensors(lib, parameters, dtype) for lib in (pellucid, torch)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(ours, name)(**made[0]), getattr(theirs, name)(**made[1]), *made


def numpy(value):
    return value.detach().numpy()


def same(mine, wanted, rtol=1e-9, atol=1e-12):
    assert tuple(mine.shape) == tuple(wanted.shape)
    assert str(mine.dtype).split(".")[-1] == str(wanted.dtype).split(".")[-1]
    if wanted.dtype == torch.float32:
        rtol, atol = max(rtol, 2e-6), max(atol, 1e-6)
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
            if grad.dtype == torch.float32:
                rtol, atol = max(rtol, 1e-5), max(atol, 1e-5)
            np.testing.assert_allclose(
                a[name].grad.numpy(), grad.numpy(), rtol=rtol, atol=atol, err_msg=name
            )
        if isinstance(b[name], torch.Tensor):
            a[name].grad = b[name].grad = None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_samples(name, parameters, dtype):
    mine, wanted, a, b = pair(name, parameters, dtype)
    tight = (
        3e-4
        if name == "ContinuousBernoulli" and dtype == "float32"
        else 1e-9
        if dtype == "float64" and any(isinstance(v, np.ndarray) for v in parameters.values())
        else 2e-5
    )
    # The last column of an LKJ factor is the root of 1 - r^2: where it is small, a rounding of r
    # shows magnified.
    least = 1e-9 if dtype == "float64" else 1e-5 if name == "LKJCholesky" else 1e-6
    for shape in ((), (5, 2)):
        pellucid.manual_seed(3)
        torch.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(mine.sample(shape), wanted.sample(shape), tight, least)
    assert mine.has_rsample == wanted.has_rsample
    if wanted.has_rsample:
        pellucid.manual_seed(4)
        torch.manual_seed(4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x, y = mine.rsample((3,)), wanted.rsample((3,))
        same(x, y, tight, least)
        # PyTorch 2.13 overwrites what the gradient of Wishart samples needs
        if dtype == "float64" and name != "Wishart":
            # PyTorch's implicit gradients of gamma samples are good to 1e-3.
            implicit = name in (
                "Beta",
                "Chi2",
                "Dirichlet",
                "FisherSnedecor",
                "Gamma",
                "InverseGamma",
                "StudentT",
            )
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
    real = value.is_floating_point()
    v, w = pellucid.tensor(value.numpy(), requires_grad=real), value.clone().requires_grad_(real)
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
    # PyTorch computes a factorial of the multinomial's entropy in float32.
    same(found, expected, 1e-6 if name == "Multinomial" else 1e-9)
    if torch.isfinite(expected).all() and expected.requires_grad:
        rounding = 1e-7 if name == "ContinuousBernoulli" else 1e-9  # of series near 1/2
        same_gradients(found, expected, a, b, 1e-7, rounding)


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_cdf_and_icdf(name, parameters):
    mine, wanted, a, b = pair(name, parameters)
    value = value_of(name, wanted)
    for method, given in (
        ("cdf", value),
        ("icdf", torch.full_like(value, 0.3) if value.is_floating_point() else value),
    ):
        try:
            expected = getattr(wanted, method)(given)
        except (NotImplementedError, AttributeError):
            with pytest.raises((NotImplementedError, AttributeError)):
                getattr(mine, method)(pellucid.tensor(given.numpy()))
            continue
        mine, wanted, a, b = pair(name, parameters)
        expected = getattr(wanted, method)(given)
        found = getattr(mine, method)(pellucid.tensor(given.numpy()))
        same(found, expected, 1e-7)
        try:
            same_gradients(found, expected, a, b, 1e-6)
        except RuntimeError as error:  # neither library has this derivative
            assert "igamma" in str(error) or "not implemented" in str(error)


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS, ids=IDS)
def test_shapes_reprs_and_expansion(name, parameters):
    mine, wanted, *_ = pair(name, parameters)
    for m, w in (
        (mine, wanted),
        (mine.expand((2, *mine.batch_shape)), wanted.expand((2, *wanted.batch_shape))),
    ):
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
            try:
                expected = w.enumerate_support()
            except NotImplementedError as error:
                with pytest.raises(NotImplementedError, match=str(error)):
                    m.enumerate_support()
                continue
            same(m.enumerate_support(), expected)
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
    same(
        mine._log_normalizer(*mine._natural_params), wanted._log_normalizer(*wanted._natural_params)
    )


def kl_pairs():
    kinds = {}
    for i, (name, _) in enumerate(PARAMETERS):
        kinds.setdefault(name, []).append(i)
    for p, q in theirs.kl._KL_REGISTRY:
        if p.__name__ in kinds and q.__name__ in kinds:
            yield kinds[p.__name__][0], kinds[q.__name__][-1]
            yield kinds[p.__name__][-1], kinds[q.__name__][0]


@pytest.mark.parametrize(("i", "j"), sorted(set(kl_pairs())), ids=lambda i: PARAMETERS[i][0])
def test_divergences(i, j):
    p, tp, a, b = pair(*PARAMETERS[i])
    q, tq, c, d = pair(*PARAMETERS[j])
    try:
        wanted = theirs.kl_divergence(tp, tq)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            ours.kl_divergence(p, q)
        return
    found = ours.kl_divergence(p, q)
    loose = any(isinstance(v, float) for v in (*a.values(), *c.values()))
    same(found, wanted, 1e-4 if loose else 1e-8, 1e-6 if loose else 1e-9)
    if torch.isfinite(wanted).all():
        mixed = {f"p.{k}": v for k, v in a.items()} | {f"q.{k}": v for k, v in c.items()}
        other = {f"p.{k}": v for k, v in b.items()} | {f"q.{k}": v for k, v in d.items()}
        same_gradients(
            found, wanted, mixed, other, 1e-4 if loose else 1e-6, 1e-5 if loose else 1e-8
        )


def test_every_pair_of_pytorch_has_a_divergence():
    from pellucid.distributions import _kl_registry

    mine = {(p.__name__, q.__name__) for p, q in _kl_registry._rules}
    wanted = {(p.__name__, q.__name__) for p, q in theirs.kl._KL_REGISTRY}
    assert mine == wanted


C = theirs.constraints
CONSTRAINTS = [
    "boolean",
    "one_hot",
    "nonnegative_integer",
    "positive_integer",
    "real",
    "real_vector",
    "positive",
    "nonnegative",
    "unit_interval",
    "simplex",
    "lower_triangular",
    "lower_cholesky",
    "corr_cholesky",
    "square",
    "symmetric",
    "positive_semidefinite",
    "positive_definite",
    "integer_interval(-2, 3)",
    "greater_than(0.5)",
    "greater_than_eq(1)",
    "less_than(0.5)",
    "interval(-1.0, 2.0)",
    "half_open_interval(0.0, 1.0)",
    "multinomial(3)",
    "independent(real, 1)",
    "independent(positive, 2)",
    "cat([positive, real], -1, [1, 2])",
    "stack([positive, real, unit_interval], -1)",
    "cat([simplex, real_vector], 0, [2, 1])",
]
VALUES = [
    np.eye(3),
    MATRIX[0],
    COVARIANCE[0],
    SIMPLEX[:3],
    REAL[:3],
    np.array([[0.0, 1.0, 2.0], [-1.0, 0.5, 1.0], [np.nan, np.inf, 3.0]]),
    np.linalg.cholesky(np.array([[1.0, 0.3, 0.2], [0.3, 1.0, -0.4], [0.2, -0.4, 1.0]])),
]


def constraint(library, text):
    return eval(text, {}, {n: getattr(library.constraints, n) for n in library.constraints.__all__})  # noqa: S307


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_constraints(text):
    mine, wanted = constraint(ours, text), constraint(theirs, text)
    assert (
        repr(mine).split(" object")[0].replace("pellucid.", "torch.")
        == repr(wanted).split(" object")[0]
    )
    assert (mine.event_dim, mine.is_discrete) == (wanted.event_dim, wanted.is_discrete)
    for value in VALUES:
        try:
            expected = wanted.check(torch.tensor(value))
        except (RuntimeError, AssertionError) as error:
            with pytest.raises(type(error)):
                mine.check(pellucid.tensor(value))
            continue
        same(mine.check(pellucid.tensor(value)), expected)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("text", CONSTRAINTS)
def test_transforms_onto_constraints(text, registry):
    if "simplex, real_vector" in text and registry == "biject_to":
        return  # stick breaking makes parts of different sizes, which cannot be joined
    try:
        wanted = getattr(theirs, registry)(constraint(theirs, text))
    except NotImplementedError as error:
        with pytest.raises(NotImplementedError, match=str(error)):
            getattr(ours, registry)(constraint(ours, text))
        return
    mine = getattr(ours, registry)(constraint(ours, text))
    assert repr(mine) == repr(wanted)
    check_transform(mine, wanted, REAL[:3])


def check_transform(mine, wanted, value):
    assert mine.bijective == wanted.bijective
    assert mine.domain.event_dim == wanted.domain.event_dim
    assert mine.codomain.event_dim == wanted.codomain.event_dim
    assert repr(mine.inv) == repr(wanted.inv)
    assert mine.inv.inv is mine
    x, u = pellucid.tensor(value, requires_grad=True), torch.tensor(value, requires_grad=True)
    y, v = mine(x), wanted(u)
    same(y, v)
    same_gradients(y, v, {"x": x}, {"x": u}, 1e-8)
    y, v = mine(x.detach()), wanted(u.detach())
    same(mine.inv(y), wanted.inv(v), 1e-7, 1e-8)
    try:
        expected = wanted.log_abs_det_jacobian(u, wanted(u))
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            mine.log_abs_det_jacobian(x, mine(x))
        return
    found = mine.log_abs_det_jacobian(x, mine(x))
    same(found, expected, 1e-8)
    same_gradients(found, expected, {"x": x}, {"x": u}, 1e-7)
    try:
        shape = wanted.forward_shape(torch.Size((4, *value.shape)))
    except (ValueError, NotImplementedError):
        return
    assert tuple(mine.forward_shape(pellucid.Size((4, *value.shape)))) == tuple(shape)
    assert tuple(mine.inverse_shape(pellucid.Size(shape))) == tuple(wanted.inverse_shape(shape))


TRANSFORMS = [
    ("AbsTransform()", REAL),
    ("AffineTransform(1.0, -2.0)", REAL),
    ("AffineTransform(t(REAL[0]), t(POSITIVE), event_dim=1)", REAL),
    ("CatTransform([ExpTransform(), AffineTransform(0, 3.0)], -1, [1, 2])", REAL),
    ("ComposeTransform([AffineTransform(0.5, 2.0), TanhTransform()])", REAL),
    ("ComposeTransform([StickBreakingTransform(), ExpTransform().inv])", REAL),
    ("CorrCholeskyTransform()", REAL),
    ("CumulativeDistributionTransform(Normal(0.5, t(POSITIVE)))", REAL),
    ("ExpTransform()", REAL),
    ("IndependentTransform(ExpTransform(), 1)", REAL),
    ("LowerCholeskyTransform()", MATRIX),
    ("PositiveDefiniteTransform()", MATRIX),
    ("PowerTransform(t(POSITIVE))", POSITIVE),
    ("PowerTransform(2.0)", POSITIVE),
    ("ReshapeTransform((3,), (3, 1))", REAL),
    ("SigmoidTransform()", REAL),
    ("SoftmaxTransform()", REAL),
    ("SoftplusTransform()", REAL),
    ("StackTransform([ExpTransform(), TanhTransform(), AffineTransform(0, 3.0)], -1)", REAL),
    ("StickBreakingTransform()", REAL),
    ("TanhTransform()", REAL),
]


def transform(library, text):
    root = {ours: pellucid, theirs: torch}[library]
    names = {n: getattr(library, n) for n in theirs.__all__}
    data = {"t": root.tensor, "REAL": REAL, "POSITIVE": POSITIVE}
    return eval(text, names | data)  # noqa: S307


@pytest.mark.parametrize(("text", "value"), TRANSFORMS, ids=[t for t, _ in TRANSFORMS])
def test_transforms(text, value):
    mine, wanted = transform(ours, text), transform(theirs, text)
    assert repr(mine) == repr(wanted)
    check_transform(mine, wanted, value)
    assert (mine == transform(ours, text)) == (wanted == transform(theirs, text))
    assert (mine == ours.ExpTransform()) == (wanted == theirs.ExpTransform())
    cached = mine.with_cache()
    x = pellucid.tensor(value)
    assert cached.inv(cached(x)) is x or not isinstance(cached, ours.ExpTransform)
    same(cached(x), wanted(torch.tensor(value)))


def test_mixture():
    for events in (False, True):
        made = []
        for library, root in ((ours, pellucid), (theirs, torch)):
            t = {"logits": root.tensor(REAL, requires_grad=True)}
            loc, scale = (
                root.tensor(COVARIANCE[:, :, :2] if events else REAL),
                root.tensor(POSITIVE),
            )
            if events:
                scale = scale.unsqueeze(-1)
            base = library.Normal(loc, scale.expand(loc.shape))
            part = library.Independent(base, 1) if events else base
            made.append((library.MixtureSameFamily(library.Categorical(**t), part), t))
        (mine, a), (wanted, b) = made
        assert repr(mine) == repr(wanted)
        assert repr(mine.support) == repr(wanted.support)
        pellucid.manual_seed(0)
        torch.manual_seed(0)
        value = wanted.sample((5,))
        same(mine.sample((5,)), value)
        same(mine.mean, wanted.mean)
        same(mine.variance, wanted.variance)
        x, y = mine.log_prob(pellucid.tensor(value.numpy())), wanted.log_prob(value)
        same(x, y)
        same_gradients(x, y, a, b, 1e-8)
        if not events:
            same(mine.cdf(pellucid.tensor(value.numpy())), wanted.cdf(value), 1e-7)
        same(mine.expand((2, 4)).mean, wanted.expand((2, 4)).mean)


MISTAKES = [
    "d.Normal(0.0, -1.0)",
    "d.Normal(torch.zeros(2), torch.tensor([1.0, -1.0]))",
    "d.Normal(float('nan'), 1.0)",
    "d.Normal('a', 1.0)",
    "d.Bernoulli()",
    "d.Bernoulli(0.5, 0.5)",
    "d.Bernoulli(1.5)",
    "d.Bernoulli(0.5).log_prob(torch.tensor(0.5))",
    "d.Categorical(torch.tensor(1.0))",
    "d.Categorical(torch.tensor([0.5, -0.5]))",
    "d.Categorical(torch.ones(3)).log_prob(torch.tensor(3))",
    "d.Dirichlet(torch.tensor(1.0))",
    "d.Dirichlet(torch.ones(3)).log_prob(torch.ones(3))",
    "d.Uniform(1.0, 0.0)",
    "d.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0))",
    "d.MultivariateNormal(torch.zeros(2))",
    "d.MultivariateNormal(torch.tensor(0.0), torch.eye(2))",
    "d.MultivariateNormal(torch.zeros(2), torch.ones(2))",
    "d.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2))",
    "d.MultivariateNormal(torch.zeros(2), -torch.eye(2))",
    "d.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2))",
    "d.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3))",
    "d.Wishart(1.0, torch.eye(3))",
    "d.Wishart(4.0)",
    "d.LKJCholesky(1)",
    "d.Multinomial(1.5, torch.ones(2))",
    "d.Geometric(torch.tensor(0.0))",
    "d.Independent(d.Normal(0.0, 1.0), 1)",
    "d.TransformedDistribution(d.Normal(0.0, 1.0), 3)",
    "d.TransformedDistribution(d.Normal(0.0, 1.0), [3])",
    "d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform())",
    "d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0))",
    "d.MixtureSameFamily(d.Categorical(torch.ones(3)), d.Normal(torch.zeros(2), 1.0))",
    "d.MixtureSameFamily(d.Categorical(torch.ones(2, 3)), d.Normal(torch.zeros(4, 3), 1.0))",
    "d.kl_divergence(d.Normal(0.0, 1.0), d.Poisson(1.0))",
    "d.kl_divergence(d.MultivariateNormal(torch.zeros(2), torch.eye(2)), d.MultivariateNormal(torch.zeros(3), torch.eye(3)))",
    "d.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2))",
    "d.Normal(0.0, 1.0).log_prob(1.0)",
    "d.Poisson(1.0).log_prob(torch.tensor(1.5))",
    "d.Binomial(3, torch.tensor(0.5)).log_prob(torch.tensor(4.0))",
    "d.ContinuousBernoulli(1.5, validate_args=True)",
    "d.ReshapeTransform((2,), (3,))",
    "d.ExpTransform(cache_size=2)",
    "d.utils.vec_to_tril_matrix(torch.ones(4))",
    "d.utils.tril_matrix_to_vec(torch.ones(2, 2), 2)",
    "d.constraints.dependent.check(torch.ones(1))",
    "d.constraints.dependent.event_dim",
    "d.biject_to(d.constraints.dependent)",
]


@pytest.mark.parametrize("text", MISTAKES)
def test_refusals(text):
    errors = []
    for library, root in ((ours, pellucid), (theirs, torch)):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            eval(text, {"d": library, "torch": root})  # noqa: S307
        errors.append(caught.value)
    mine, wanted = errors
    assert isinstance(mine, type(wanted))
    first = [" ".join(str(e).split("\n")[0].split()) for e in errors]
    assert first[0].replace("pellucid.", "torch.") == first[1].replace("pellucid.", "torch.")
