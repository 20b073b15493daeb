"""How results of operations on turned tensors lie in memory, as PyTorch's."""

import copy

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


def test_stacked_tensors_lie_in_memory_as_what_cat_gives():
    image = torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)
    turned = torch.ones(3, 4).T
    for dim in range(4):
        joined = torch.cat([image, image], dim)
        shape = [*image.shape[:dim], 2, *image.shape[dim:]]
        assert torch.stack([image, image], dim).stride() == joined.view(shape).stride()
    for dim in range(3):
        assert torch.stack([turned, turned * 2], dim).is_contiguous()
    x = torch.ones(3, 4, requires_grad=True)
    assert torch.stack([x.mT, x.mT], -1).flatten(-2)._is_view()


def test_copies_of_nothing_keep_their_dtype():
    for x in (
        torch.randn(0, dtype=torch.complex64),
        torch.ones(4, dtype=torch.int16).view(torch.float32)[:0],
        torch.ones(2, 3).view(torch.int32)[:, 3:],
    ):
        y = copy.deepcopy(x)
        assert (y.dtype, y.shape, y.stride()) == (x.dtype, x.shape, x.stride())
