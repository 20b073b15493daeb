"""Derivatives of gamma and Dirichlet samples against derivatives of quantiles."""

import numpy as np
import pytest
from scipy import special

import pellucid as torch
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


def test_samples_at_the_ends():
    x, a = torch.tensor([0.0, 1.0], dtype=torch.float64), torch.full((2,), 0.01).double()
    zero, one = torch._dirichlet_grad(x, a, 2 * a).tolist()
    assert zero == 0 and one == pytest.approx(5001.6096, rel=1e-6)  # the limit
    assert torch._standard_gamma_grad(a, torch.zeros(2).double()).tolist() == [0, 0]
