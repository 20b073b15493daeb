"""Functions near their zeros, poles and ends: values that are known to more digits than float64
has.
"""

import math

import pytest

import pellucid as torch

F32, F64 = torch.float32, torch.float64


def ulps(made, expected, kind):
    eps = 2.0**-23 if kind is F32 else 2.0**-52
    return abs(made - expected) / (abs(expected) * eps)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (torch.lgamma, 1.0009765625, -0.0005629031799912047),
        (torch.lgamma, 1.0 + 2.0**-40, -5.249745890076018e-13),
        (torch.lgamma, 2.0 - 2.0**-40, -3.845201127643794e-13),
        (torch.lgamma, 0.75, 0.20328095143129537),
        (torch.lgamma, 2.25, 0.12487171489239655),
        (torch.erfc, 26.7, 5.2531104135944e-312),
        (torch.erfc, 20.476489020507643, 2.2171514531570814e-184),
        (torch.special.airy_ai, 1e30, 0.0),
    ],
)
def test_float64(function, x, expected):
    made = function(torch.tensor(x, dtype=F64)).item()
    assert made == expected or ulps(made, expected, F64) < (64 if abs(expected) > 1e-300 else 1e9)
    if 0 < abs(expected) < 1e-300:
        assert abs(made - expected) < 1e-320


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (torch.special.bessel_j0, 5.338631629943848, -0.062433445384629846),
        (torch.special.bessel_j1, 7.0127453804016113, -0.000852887306561799),
        (torch.special.bessel_y1, 5.424644947052002, 0.0017146618883828015),
        (torch.special.airy_ai, 1e30, 0.0),
    ],
)
def test_float32(function, x, expected):
    made = function(torch.tensor(x)).item()
    assert made == expected or ulps(made, expected, F32) < 4


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e20, 1e-25, 1.0, 1e19])
def test_deviations_whose_squares_overflow_or_vanish(scale, kind):
    x = torch.tensor([scale, -scale, 3 * scale], dtype=kind)
    expected = x.double().std()
    step = torch.compile(lambda t: (t.std(), t.std(0, correction=0)))
    for made in (x.std(), x.std(0), torch.std_mean(x)[0], *(step(x)[0] for _ in range(3))):
        assert made.dtype == kind
        torch.testing.assert_close(
            made.double(), expected, rtol=1e-6 if kind == F32 else 8e-3, atol=0
        )
    torch.testing.assert_close(
        step(x)[1].double(),
        x.double().std(correction=0),
        rtol=1e-6 if kind == F32 else 8e-3,
        atol=0,
    )


def test_deviations_of_many_rows():
    """The kernel's rows are right, and one that it cannot hold is computed again."""
    x = torch.randn(300, 70, generator=torch.Generator().manual_seed(0))
    x[7] *= 1e25
    x[9] = 4
    torch.testing.assert_close(x.std(1).double(), x.double().std(1), rtol=1e-6, atol=1e-7)
    assert torch.isinf(x.var(1)[7]) and x.var(1)[9] == 0


def test_heaviside_of_nan():
    x, v = torch.tensor([math.nan, 0.0, -1.0, 2.0]), torch.tensor(0.5)
    step = torch.compile(lambda a, b: torch.heaviside(a, b) * 1)
    for made in (torch.heaviside(x, v), *(step(x, v) for _ in range(3))):
        assert made.tolist() == [0.0, 0.5, 0.0, 1.0]


def test_the_norm_of_one_element_needs_no_square():
    x = torch.tensor([1e30, -1e-30])
    step = torch.compile(lambda t: t[:, None].norm(dim=1) * 1)
    for made in (x[:, None].norm(dim=1), x[:, None].norm(3, dim=1), *(step(x) for _ in range(3))):
        assert torch.equal(made, x.abs())
