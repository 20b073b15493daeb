"""Exponents for which PyTorch takes a root, which differs from the power at -inf and -0.0: it does
where the exponent is a number, but not of float16.
"""

import math

import pytest

import pellucid as torch

ROOTS = {0.5: [math.nan, -0.0, 2.0], -0.5: [math.nan, -math.inf, 0.5]}
POWERS = {0.5: [math.inf, 0.0, 2.0], -0.5: [0.0, math.inf, 0.5]}
# of 0.5 and of 1.5, where the gradient is one of these times the exponent
SLOPES = {
    True: {0.5: [math.nan, -math.inf, 0.25], 1.5: [math.nan, -0.0, 3.0]},
    False: {0.5: [0.0, math.inf, 0.25], 1.5: [math.inf, 0.0, 3.0]},
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def values(dtype):
    return torch.tensor([-math.inf, -0.0, 4.0], dtype=dtype)


def shown(x):
    return [str(v) for v in x.tolist()]


def calls(function, *args):
    """Eagerly, and two compiled calls."""
    yield function(*args)
    compiled = torch.compile(function)
    compiled(*args)
    yield compiled(*args)
    yield compiled(*args)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", ROOTS)
def test_numbers(exponent, dtype):
    wanted = (POWERS if dtype is torch.float16 else ROOTS)[exponent]
    for function in (
        lambda x: x**exponent,
        lambda x: torch.pow(x, exponent),
        lambda x: x.clone().pow_(exponent),
    ):
        for made in calls(function, values(dtype)):
            assert shown(made) == list(map(str, wanted))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", POWERS)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (2, 1)])
def test_tensors(shape, exponent, dtype):
    """NumPy takes roots where a row has one exponent."""
    other = torch.full(shape, exponent, dtype=dtype)
    for made in calls(lambda x, y: x**y, values(dtype), other):
        for row in made.reshape(-1, 3):
            assert shown(row) == list(map(str, POWERS[exponent]))
    for made in calls(lambda x: x ** torch.full(shape, exponent, dtype=dtype), values(dtype)):
        for row in made.reshape(-1, 3):
            assert shown(row) == list(map(str, POWERS[exponent]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", [0.5, 1.5])
@pytest.mark.parametrize("kind", ["number", "tensor"])
def test_gradients(kind, exponent, dtype):
    wanted = SLOPES[kind == "number" and dtype is not torch.float16][exponent]
    other = exponent if kind == "number" else torch.tensor(exponent, dtype=dtype)

    def slope(x, y):
        x = x.detach().requires_grad_()
        (x**y).sum().backward()
        return x.grad

    for made in calls(slope, values(dtype), other):
        assert shown(made) == list(map(str, wanted))


def test_exponents_that_change_between_calls():
    """Each is a number, also where a compiled function is given it."""
    x = values(torch.float32)
    for exponents in (
        (0.5, 2.5, 0.5, -0.5, 3.0, 0.25, 0.5, -0.5),
        (0.25, 2.5, 3.0, 0.5, -0.5, 2.0),
    ):
        run = torch.compile(lambda x, k: x**k)
        for k in exponents:
            assert shown(run(x, k)) == shown(x**k)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, 2, -1, 0.3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_powers_have_the_same_bits(dtype, exponent):
    x = (torch.rand(300, generator=torch.Generator().manual_seed(1)) * 9).to(dtype)
    eager, *compiled = calls(lambda x: x**exponent, x)
    for made in compiled:
        if dtype.itemsize == 2:
            assert torch.equal(made, eager)
        else:
            torch.testing.assert_close(
                made, eager, rtol=2e-7 if dtype.itemsize == 4 else 5e-16, atol=0
            )


@pytest.mark.parametrize("exponent", [2, 3.0, 0.5])
def test_powers_of_truth_values(exponent):
    """An exponent that is a number was asked for its strides."""
    x = torch.tensor([True, False])
    assert torch.equal(x**exponent, torch.tensor([1, 0]) ** exponent)
    assert torch.equal(exponent**x, exponent ** torch.tensor([1, 0]))
