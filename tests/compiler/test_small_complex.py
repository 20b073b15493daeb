"""Compiled functions hold every dtype that tensors have."""

import pytest

import pellucid as torch
from pellucid import dtypes
from pellucid.ir.program import ITEMSIZE

FUNCTIONS = [
    lambda x: x.chalf(),
    lambda x: x.chalf() * 2 + x.chalf(),
    lambda x: (x.chalf() * (1 + 1j)).to(torch.complex64).abs().sum(),
    lambda x: x.to(torch.float8_e8m0fnu).float() * 3,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_half_complex_numbers_and_powers_of_two_are_compiled(function):
    x = torch.full((3,), 2.0)
    compiled = torch.compile(function)
    for _ in range(3):  # a fault of the compiler would warn
        assert str(compiled(x)) == str(function(x))


def test_programs_know_the_size_of_every_dtype():
    sizes = {kind.name: kind.itemsize for kind in dtypes.ALL if kind.name in ITEMSIZE}
    assert {name: ITEMSIZE[name] for name in sizes} == sizes
    assert {"complex32", "float8_e8m0fnu"} <= ITEMSIZE.keys()
