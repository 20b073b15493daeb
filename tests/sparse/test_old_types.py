"""The types of sparse tensors from before `sparse_coo_tensor`, and what classes are called."""

import warnings

import pytest

import pellucid as torch


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(action="ignore"):
        yield


def test_a_new_tensor_of_a_sparse_one_is_sparse():
    s = torch.ones(2).to_sparse()
    assert s.new().shape == (0,) and s.new().is_sparse
    made = s.double().new(2, 3)
    assert made.shape == (2, 3) and made.dtype is torch.float64
    made = s.new(torch.tensor([[1]]), torch.ones(1))
    assert made.to_dense().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("a",), "new() received an invalid combination of arguments - got (str), but expected"),
        ((1, "a"), "new(): argument 'size' failed to unpack the object at pos 2 with error"),
        ((torch.ones(2), torch.ones(2), 3, 4), "new() takes 3 positional arguments but 4 were"),
    ],
)
def test_words(args, words):
    with pytest.raises(TypeError) as refused:
        torch.sparse.FloatTensor(*args)
    assert str(refused.value).startswith(words)


def test_names():
    s = torch.ones(2).to_sparse()
    assert type(s).__name__ == "Tensor"
    assert torch.typename(s) == "torch.sparse.FloatTensor"
    assert type(torch.sparse.FloatTensor).__name__ == "tensortype"
    assert torch.sparse.FloatTensor.is_sparse
    with pytest.raises(TypeError, match=r"for \+: 'Tensor' and 'str'"):
        s + "a"
