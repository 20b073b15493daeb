"""What is refused for its dtype, and which of several refusals comes first."""

import operator

import pytest

import pellucid as torch

WHOLE = torch.tensor([3, 2, 1])
COMPLEX = torch.tensor([1 + 2j, 2j, 1.0], dtype=torch.complex128)
CAST = "result type ComplexDouble can't be cast to the desired output type"


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("floor_divide", "div_floor_cpu"),
        ("bitwise_left_shift", "lshift_cpu"),
        ("bitwise_right_shift", "rshift_cpu"),
        ("xlogy", "xlogy_cpu"),
        ("lt", "lt_cpu"),
        ("ge", "ge_cpu"),
    ],
)
def test_kernels_that_are_not_there(name, kernel):
    function = getattr(torch, name)
    for call in (lambda: function(WHOLE, COMPLEX), lambda: function(WHOLE.double(), 1j)):
        with pytest.raises(NotImplementedError) as caught:
            call()
        assert str(caught.value) == f"\"{kernel}\" not implemented for 'ComplexDouble'"


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("erf", "erf_vml_cpu"),
        ("erfinv", "erfinv_vml_cpu"),
        ("lgamma", "lgamma_vml_cpu"),
        ("digamma", "digamma"),
        ("i0", "i0_vml_cpu"),
        ("logit", "logit_cpu"),
        ("special.entr", "entr_cpu"),
        ("special.airy_ai", "airy_ai_cpu"),
    ],
)
def test_functions_of_real_numbers(name, kernel):
    with pytest.raises(NotImplementedError, match=f'^"{kernel}" not implemented for \'ComplexD'):
        operator.attrgetter(name)(torch)(COMPLEX)


@pytest.mark.parametrize("name", "remainder floor_divide bitwise_and atan2 gcd hypot".split())
def test_what_cannot_be_held_is_refused_first(name):
    with pytest.raises(RuntimeError, match=f"^{CAST} Long"):
        getattr(WHOLE.clone(), f"{name}_")(COMPLEX)
    with pytest.raises(RuntimeError, match=f"^{CAST} Float"):
        getattr(torch, name)(WHOLE, COMPLEX, out=torch.zeros(3))


def test_dtypes_of_out():
    float32, double = torch.zeros(3), torch.zeros(3, dtype=torch.float64)
    for call, text in (
        (lambda: torch.isnan(float32, out=float32), "isnan() got an unexpected keyword argument"),
        (lambda: torch.signbit(float32, out=double), "signbit does not support non-boolean outp"),
        (lambda: torch.nan_to_num(double, out=float32), "nan_to_num: dtype of out: Float should"),
        (lambda: torch.float_power(WHOLE, 2, out=float32), "the output given to float_power has"),
        (lambda: torch.frexp(float32, out=double), "frexp(): argument 'out' must be tuple of T"),
        (lambda: torch.bitwise_not(double, out=float32), "Found dtype Float but expected Double"),
    ):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call()
        assert str(caught.value).startswith(text)
    assert torch.abs(COMPLEX, out=float32).dtype == torch.float32


def test_operands_of_two_dtypes():
    double = torch.ones(3, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.linalg.cross(torch.ones(3), double)
    with pytest.raises(RuntimeError, match="both inputs should have same dtype"):
        torch.inner(torch.ones(3), double)
    with pytest.raises(RuntimeError, match="maximum not implemented for complex tensors."):
        torch.max(COMPLEX, COMPLEX)
    with pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without ov"):
        torch.ones(2, dtype=torch.int8) ** 300
    with pytest.raises(NotImplementedError, match="\"div_floor_cpu\" not implemented for 'Bool'"):
        torch.tensor([True]) // True


@pytest.mark.parametrize("name", ["bessel_j0", "modified_bessel_i0", "erfcx", "airy_ai", "ndtri"])
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_special_functions_have_no_kernel_for_floats_of_two_bytes(name, kind):
    with pytest.raises(NotImplementedError) as caught:
        getattr(torch.special, name)(torch.ones(2, dtype=kind))
    assert str(caught.value) == f"\"{name}_cpu\" not implemented for '{kind.scalar_type_name}'"
    assert torch.special.i0(torch.ones(2, dtype=kind)).dtype is kind


def test_polynomials_count_both_arguments():
    x, n = torch.ones(2), torch.ones(2, dtype=torch.bfloat16)
    assert torch.special.hermite_polynomial_h(x, n).dtype is torch.float32
    with pytest.raises(NotImplementedError, match="hermite_polynomial_h_cpu"):
        torch.special.hermite_polynomial_h(2, n)
