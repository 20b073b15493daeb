"""Element-wise operations and factories: results and refusals as PyTorch's, and what the tables
cannot say.
"""

import numpy as np
import pytest

import pellucid as torch

from .outcomes import EXPECTED, outcome


@pytest.mark.parametrize("expression", EXPECTED)
def test_outcome_of(expression):
    assert outcome(torch, expression) == EXPECTED[expression]


def test_a_refused_in_place_operation_leaves_the_tensor_alone():
    x = torch.tensor([1, 2])
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        x.div_(2)
    assert x.tolist() == [1, 2]
    assert x._version == 0


def test_in_place_operators_keep_the_tensor():
    x = torch.tensor([6.0, 8.0])
    for statement in ("x += 1", "x -= 1", "x *= 2", "x /= 4", "x //= 1", "x **= 2", "x %= 5"):
        scope = {"x": x}
        exec(statement, scope)
        assert scope["x"] is x, statement
    assert x.tolist() == [4.0, 1.0]


def test_bit_operators_in_place():
    x = torch.tensor([6, 3])
    y = x
    x &= 3
    x |= 8
    x ^= 1
    x <<= 2
    x >>= 1
    assert y.tolist() == [((((6 & 3) | 8) ^ 1) << 2) >> 1, ((((3 & 3) | 8) ^ 1) << 2) >> 1]


def test_foreign_types_get_their_own_reflected_operator():
    class Other:
        def __radd__(self, other):
            return "mine"

        def __rlt__(self, other):
            return "never"

        def __gt__(self, other):
            return "greater"

    assert torch.ones(2) + Other() == "mine"
    assert (torch.ones(2) < Other()) == "greater"
    assert (torch.ones(2) == Other()) is False


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "log10", "erf", "round", "sgn"])
def test_empty_and_scalar_tensors(name):
    function = getattr(torch, name)
    assert function(torch.empty(0, 3)).shape == (0, 3)
    assert function(torch.tensor(0.5)).shape == ()
    assert function(torch.tensor(0.5)).ndim == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "name", ["exp", "log", "tanh", "sigmoid", "rsqrt", "erf", "lgamma", "log10", "sinc", "digamma"]
)
def test_two_byte_floats_are_rounded_once(name, dtype):
    x = torch.linspace(0.1, 3, 50).to(dtype)
    exact = getattr(torch, name)(x.double())
    got = getattr(torch, name)(x)
    assert got.dtype is dtype
    assert torch.allclose(got.double(), exact, rtol=0.51 * torch.finfo(dtype).eps + 1e-6, atol=1e-6)


def test_complex_numbers_are_not_ordered():
    c = torch.tensor([1 + 1j])
    for operation in (torch.lt, torch.maximum, torch.clamp_max):
        with pytest.raises(RuntimeError):
            operation(c, c)
    assert (c == c).item() is True


def test_log10_of_powers_of_ten_is_exact():
    powers = torch.tensor([10.0**k for k in range(-20, 30)])
    assert powers.log10().tolist() == list(range(-20, 30))


def test_functions_that_give_back_their_argument():
    x = torch.ones(2)
    assert torch.positive(x) is x
    assert torch.real(x) is x
    assert torch.conj(x) is x
    assert torch.resolve_conj(x) is x


def test_parts_of_complex_tensors_are_views():
    c = torch.tensor([1 + 2j, 3 + 4j])
    c.real.mul_(10)
    c.imag.add_(1)
    torch.view_as_real(c)[0, 0] = 7
    assert c.tolist() == [7 + 3j, 30 + 5j]
    pairs = torch.zeros(2, 2)
    torch.view_as_complex(pairs).fill_(1 + 2j)
    assert pairs.tolist() == [[1, 2], [1, 2]]


def test_view_as_real_of_strided_tensors():
    c = torch.view_as_complex(torch.arange(12.0).reshape(3, 2, 2))
    assert (
        torch.view_as_real(c.t()).tolist()
        == np.arange(12.0).reshape(3, 2, 2).transpose(1, 0, 2).tolist()
    )


def test_where_leaks_no_nan_into_gradients():
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    torch.where(x > 0, x, torch.ones(2)).log().sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


def test_ties_share_the_gradient():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([1.0, 3.0], requires_grad=True)
    torch.maximum(a, b).sum().backward()
    assert a.grad.tolist() == [0.5, 0.0]
    assert b.grad.tolist() == [0.5, 1.0]


def test_power_at_zero_has_finite_slopes():
    x = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
    y = torch.tensor([0.0, 2.0, 3.0], requires_grad=True)
    (x**y).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 12.0]
    assert y.grad.tolist()[:2] == [0.0, 0.0]


def test_derivatives_that_do_not_exist_say_so():
    a = torch.ones(1, requires_grad=True)
    with pytest.raises(
        NotImplementedError, match="the derivative for 'igamma: input' is not implemented."
    ):
        torch.igamma(a, torch.ones(1)).backward()


def test_out_is_resized_when_empty_and_written():
    out = torch.empty(0)
    assert torch.add(torch.ones(2), 1, out=out) is out
    assert out.tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.exp(torch.zeros(3), out=out)
    assert out.tolist() == [1.0, 1.0, 1.0]


def test_large_integers_are_exact():
    big = torch.tensor([2**62 + 1, -(2**62) - 1])
    assert torch.div(big, 3, rounding_mode="trunc").tolist() == [
        (2**62 + 1) // 3,
        -((2**62 + 1) // 3),
    ]
    assert (big // 3).tolist() == [(2**62 + 1) // 3, (-(2**62) - 1) // 3]


def test_scipy_is_loaded_only_when_needed():
    import subprocess
    import sys

    program = "import sys, pellucid as t; t.ones(2).exp(); a = 'scipy' in sys.modules; t.erf(t.ones(2)); print(a, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr


@pytest.mark.parametrize("name", ["erf", "sigmoid"])
def test_large_arrays_get_the_same_values_from_kernels(name):
    """Arrays from 4096 float32 elements on may go to a generated kernel: 2 ulp, special values and
    strides included.
    """
    function = getattr(torch, name)
    x = torch.cat(
        [
            torch.linspace(-12, 12, 9000),
            torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 1e-40, 90.0, -90.0]),
        ]
    )
    got, exact = function(x).double(), function(x.double())
    assert torch.allclose(got, exact, rtol=2.5e-7, atol=1e-38, equal_nan=True)
    assert torch.equal(function(x.view(-1)[::2].contiguous())[:4000], function(x[::2])[:4000])
