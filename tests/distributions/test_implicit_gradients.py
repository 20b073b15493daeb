"""Derivatives of gamma and Dirichlet samples against derivatives of quantiles."""

import numpy as np
import pytest
from scipy import special

import pellucid as torch
from pellucid.kernels.random.slopes import library
from pellucid.ops.create import gamma
from pellucid.ops.create.gamma import _beta_slope, _gamma_slope

LEVELS = np.array([1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4])


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 2.5, 9.0, 80.0, 1e4])
def test_gamma(alpha):
    # The quantile function moves with alpha as the sample of that level does.
    h = 1e-4 * alpha
    ends = [special.gammaincinv(alpha + k * h, LEVELS) for k in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
    x = special.gammaincinv(alpha, LEVELS)
    found = _gamma_slope(np.full_like(x, alpha), x)
    np.testing.assert_allclose(found, wanted, rtol=2e-7 if alpha > 0.1 else 5e-6, atol=1e-300)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0, 40.0, 900.0])
@pytest.mark.parametrize("beta", [0.2, 1.0, 3.0, 40.0, 900.0])
def test_beta(alpha, beta):
    h = 1e-4 * alpha
    ends = [special.betaincinv(alpha + k * h, beta, LEVELS) for k in (-2, -1, 1, 2)]
    wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
    x = special.betaincinv(alpha, beta, LEVELS)
    inside = (x > 1e-12) & (x < 1 - 1e-6)
    found = _beta_slope(x, np.full_like(x, alpha), np.full_like(x, beta))
    np.testing.assert_allclose(found[inside], wanted[inside], rtol=2e-5)


def test_the_mean_of_gamma_samples_has_the_gradient_of_the_mean():
    torch.manual_seed(0)
    alpha = torch.tensor([0.4, 2.0, 11.0], dtype=torch.float64, requires_grad=True)
    torch.distributions.Gamma(alpha, 2.0).rsample((4000,)).mean(0).sum().backward()
    np.testing.assert_allclose(alpha.grad.numpy(), 0.5, rtol=0.06)


def test_the_mean_of_dirichlet_samples_has_the_gradient_of_the_mean():
    torch.manual_seed(0)
    a = torch.tensor([0.4, 2.0, 1.0], dtype=torch.float64, requires_grad=True)
    d = torch.distributions.Dirichlet(a)
    (sampled,) = torch.autograd.grad(d.rsample((4000,)).mean(0)[0], a)
    (exact,) = torch.autograd.grad(d.mean[0], a)
    np.testing.assert_allclose(sampled.numpy(), exact.numpy(), rtol=0.1)


def test_a_second_derivative_is_refused_by_name():
    a = torch.tensor([1.5], requires_grad=True)
    (g,) = torch.autograd.grad(torch._standard_gamma(a).sum(), a, create_graph=True)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        g.sum().backward()


def test_small_and_large_parameters():
    """Values from 60 digits: derivatives of the distribution function by its parameter."""
    x, a, b, slope = np.array(
        [
            (0.008, 0.01, 0.01, 43.49970806883839),
            (0.5, 0.001, 0.001, 125173.40673873581),
            (2.989407898123625e-56, 0.001, 0.01, 6.53910480202079e-51),
            (4.4655e-31, 0.01, 1e4, 2.68432725380962e-27),
            (2e-06, 0.01, 0.1, 0.004412372040748162),
            (0.9, 1e-4, 1e4, 0.10009570798181794),
            (0.45, 1e-3, 0.1, 2633.5596237759596),
        ]
    ).T
    np.testing.assert_allclose(_beta_slope(x, a, b), slope, rtol=1e-8)
    x, a, slope = np.array(
        [
            (6.9e-98, 0.001, 1.5397090958130204e-92),
            (4.4655e-31, 0.01, 3.0956128149902143e-27),
            (1.26e-44, 1e-4, 1.2663703229594796e-38),
            (4e-31, 1e-30, 27.76665109112863),
            (1.1e20, 1e20, 1.05),
            (1e300, 1.0, 691.3527435631426),
        ]
    ).T
    np.testing.assert_allclose(_gamma_slope(a, x), slope, rtol=1e-8)


def test_a_large_and_a_small_parameter():
    """Digamma functions that nearly agree; the values are from 60 digits."""
    x, a, b = np.array([(1 - 2.0**-53, 29678546.0, 1.24e-4), (1 - 1.575007e-11, 6.99e7, 0.0322)]).T
    wanted = [3.740826937165223e-24, 2.253228615944495e-19]
    np.testing.assert_allclose(_beta_slope(x, a, b), wanted, rtol=1e-8)
    np.testing.assert_allclose(gamma._dirichlet_slope(x, a, a + b) * (1 - x), wanted, rtol=1e-8)


def test_samples_at_the_ends():
    x, a = torch.tensor([0.0, 1.0], dtype=torch.float64), torch.full((2,), 0.01).double()
    zero, one = torch._dirichlet_grad(x, a, 2 * a).tolist()
    assert zero == 0 and one == pytest.approx(5001.6096, rel=1e-6)  # the limit
    assert torch._standard_gamma_grad(a, torch.zeros(2).double()).tolist() == [0, 0]


def samples(seed, count=3000):
    """Parameters over twelve powers of ten, and samples of them, far in the tails too."""
    r = np.random.default_rng(seed)
    a, b = 10.0 ** r.uniform(-4, 8, (2, count))
    x = np.where(r.random(count) < 0.8, r.gamma(a), a * 10.0 ** r.uniform(-3, 1.5, count))
    y = np.where(r.random(count) < 0.8, r.beta(a, b), r.uniform(size=count))
    return a, b, np.maximum(x, 1e-300), np.clip(y, 1e-300, 1 - 2.0**-53)


@pytest.mark.skipif(library.gamma is None, reason="no compiler")
@pytest.mark.parametrize("seed", [0, 1])
def test_series_agree_with_integrals(seed):
    a, b, x, y = samples(seed)
    out = np.empty_like(a)
    library.gamma(a, x, out, a.size, 1e-11)
    known = ~np.isnan(out)
    assert known.mean() > 0.85
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out[known], _gamma_slope(a[known], x[known]), rtol=2e-8)
        library.beta(y, a, b, out, a.size, 1e-11)
        known = ~np.isnan(out)
        assert known.mean() > 0.6
        wanted = _beta_slope(y[known], a[known], b[known])
    np.testing.assert_allclose(out[known], wanted, rtol=2e-8)


@pytest.mark.skipif(library.gamma is None, reason="no compiler")
def test_samples_take_the_series(monkeypatch):
    """Of samples of ordinary parameters hardly any needs an integral."""
    left = []
    monkeypatch.setattr(gamma, "_integrate", lambda slope, flat, out: left.append(out.size))
    r = np.random.default_rng(3)
    for a in (0.05, 1.0, 3.0, 40.0, 1e5):
        x, alpha = r.gamma(a, size=200_000), np.full(200_000, a)
        gamma._standard_gamma_slope(alpha, x)
        y = r.beta(a, 2.5, size=200_000)
        gamma._dirichlet_slope(y, alpha, alpha + 2.5)
    assert sum(left) < 20


def test_what_the_series_leave_is_integrated(monkeypatch):
    a, b, x, y = samples(2, 1000)
    made = []
    for waiting in (0, 10**9):
        monkeypatch.setattr(gamma, "_waiting", [waiting])
        monkeypatch.setattr(gamma, "native_code_runs", lambda: False)
        made.append((gamma._standard_gamma_slope(a, x), gamma._dirichlet_slope(y, a, a + b)))
    for one, other in zip(*made, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-8)
    a32, x32 = a.astype(np.float32), x.astype(np.float32)
    single = gamma._standard_gamma_slope(a32, x32)
    assert single.dtype == np.float32
    wide = gamma._standard_gamma_slope(a32.astype(np.float64), x32.astype(np.float64))
    np.testing.assert_allclose(single, wide.astype(np.float32), rtol=2e-7)
