"""How results of operations on turned tensors lie in memory, as PyTorch's."""

import pytest

import pellucid as torch

AS_THE_INPUT = {
    "sort": lambda x: x.sort(1),
    "argsort": lambda x: (x.argsort(dim=1, stable=True),),
    "flip": lambda x: (x.flip(1),),
    "exp": lambda x: (x.exp(),),
    "index_fill": lambda x: (x.index_fill(1, torch.tensor([0]), 1.0),),
}
ROW_BY_ROW = {
    "roll": lambda x: (x.roll(1, 1),),
    "tril": lambda x: (x.tril(),),
    "topk": lambda x: x.topk(2, 1),
    "index_add": lambda x: (x.index_add(1, torch.tensor([0]), x[:, :1]),),
    "index_copy": lambda x: (x.index_copy(1, torch.tensor([0]), x[:, :1]),),
}


@pytest.mark.parametrize("name", AS_THE_INPUT)
def test_as_the_input(name):
    x = torch.arange(60.0).reshape(5, 4, 3).permute(2, 0, 1)
    assert {r.stride() for r in AS_THE_INPUT[name](x)} == {(1, 12, 3)}


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_row_by_row(name):
    x = torch.arange(60.0).reshape(5, 4, 3).permute(2, 0, 1)
    assert all(r.is_contiguous() for r in ROW_BY_ROW[name](x))


def test_values_are_those_of_a_tensor_in_order():
    x = torch.randn(5, 4, 30).permute(2, 0, 1)
    for functions in (AS_THE_INPUT, ROW_BY_ROW):
        for f in functions.values():
            made, wanted = f(x), f(x.contiguous())
            assert all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))
