"""`assert_close` says what PyTorch's says; `make_tensor` draws what PyTorch's draws."""

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

CASES = [
    "T([1.,2.,3.]), T([1.,2.5,3.])",
    "T([[1.,2.,3.]]), T([[1.,2.5,float('nan')]])",
    "T(1.), T(2.)",
    "1., 2.",
    "1, 2",
    "1, 1.",
    "True, False",
    "T([1,2]), T([1,3])",
    "T([1,2]), T([1.,3])",
    "T([1,2]), T([1.,3]), check_dtype=False",
    "T([True,False]), T([True,True])",
    "T([1,2]), T([1,2,3])",
    "[1,2],[1,3]",
    "[1,2],[1]",
    "{'a':T(1.)},{'b':T(1.)}",
    "{'a':[T([1.,2.])]},{'a':[T([2.,2.])]}",
    "'a','b'",
    "None,T(1.)",
    "T([1.]), 1.",
    "T([1.,2.]), T([1.1,2.]), rtol=0",
    "T([1.,2.]), T([1.1,2.]), rtol=0, atol=0",
    "T([1.,2.]), T([1.1,2.]), rtol=0, atol=0.01",
    "T([1+1j]), T([1+2j])",
    "1+1j, 1+2j",
    "T([float('inf')]), T([-float('inf')])",
    "T([1.]), T([0.])",
    "torch.zeros(2,3), torch.zeros(3,2).t(), check_stride=True",
    "torch.zeros(2,3,device='meta'), torch.zeros(2,3)",
    "torch.zeros(2,3,dtype=torch.float16), torch.ones(2,3,dtype=torch.float16)",
    "T([1,2],dtype=torch.uint8), T([255,2],dtype=torch.uint8)",
    "torch.zeros(2,dtype=torch.bfloat16), torch.ones(2), check_dtype=False",
    "{1:2},[1]",
    "[[1.,2],[3]],[[1.,2],[4]]",
    "T([1.]), T([1.])",
]


def outcome(library, case):
    try:
        eval(
            f"library.testing.assert_close({case})",
            {"library": library, "torch": library, "T": library.tensor},
        )
    except (AssertionError, TypeError, ValueError) as error:
        return type(error).__name__, str(error).replace(
            "pellucid.core.tensor.Tensor", "torch.Tensor"
        )


@pytest.mark.parametrize("case", CASES)
def test_same_words(case):
    assert outcome(pellucid, case) == outcome(torch, case)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"],
)
@pytest.mark.parametrize(
    "options", [{}, {"low": 0, "high": 2}, {"noncontiguous": True}, {"exclude_zero": True}]
)
def test_same_draws(dtype, options):
    results = []
    for library in (torch, pellucid):
        library.manual_seed(5)
        made = library.testing.make_tensor(
            3, 4, dtype=getattr(library, dtype), device="cpu", **options
        )
        results.append((made.to(library.complex128).tolist(), made.stride()))
    assert results[0] == results[1]
