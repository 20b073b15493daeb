"""The constructors of old, and what is no number, no sequence or no size to them."""

import numpy as np
import pytest

import pellucid as torch

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


class Sequence:
    def __init__(self, items, broken=False):
        self.items, self.broken = items, broken

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        if self.broken:
            raise TypeError
        return self.items[k]


@pytest.mark.parametrize("make", [torch.Tensor, torch.FloatTensor, torch.ones(1).new])
def test_sequences_sizes_and_keywords(make):
    assert make(range(3)).tolist() == [0.0, 1.0, 2.0]
    assert make(Sequence([1, 2])).tolist() == [1.0, 2.0]
    assert make((3, 4)).tolist() == [3.0, 4.0]
    assert make(size=(3, 4)).shape == make(torch.Size([3, 4])).shape == make(3, 4).shape == (3, 4)
    assert make(data=[2, 3]).tolist() == [2.0, 3.0]
    assert make(np.int64(3)).shape == (3,)
    assert make().shape == make([]).shape == (0,)
    x = torch.ones(2)
    assert make(x).data_ptr() == make(x.storage()).data_ptr() == x.data_ptr()
    assert make(x.untyped_storage()).data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "text"),
    [
        (("a",), {}, TypeError, "new(): invalid data type 'str'"),
        ((1.5,), {}, TypeError, "new(): data must be a sequence (got float)"),
        ((True,), {}, TypeError, "new(): data must be a sequence (got bool)"),
        (({1: 2},), {}, TypeError, "new(): data must be a sequence (got dict)"),
        ((Sequence([1], True),), {}, ValueError, "could not determine the shape of object type"),
        ((2, "a"), {}, TypeError, "new(): argument 'size' failed to unpack the object at pos 2"),
        ((1.5, 2), {}, TypeError, "new() received an invalid combination of arguments - got ("),
        ((3,), {"foo": 1}, TypeError, "got (int, foo=int), but expected one of:\n * (*, torch"),
        (([1],), {"device": "meta"}, RuntimeError, "legacy constructor expects device type: cpu"),
        ((-1,), {}, RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    ],
)  # fmt: skip
def test_refusals(arguments, keywords, error, text):
    for make in (torch.Tensor, torch.FloatTensor, torch.ones(1).new):
        with pytest.raises(error) as caught:
            make(*arguments, **keywords)
        assert text in str(caught.value)


def test_typed_constructors_refuse_other_types():
    double = torch.ones(2, dtype=torch.float64)
    for make in (torch.FloatTensor, torch.ones(1).new):
        with pytest.raises(TypeError, match=r"^expected TensorOptions\(dtype=float, device=cpu, "):
            make(double)
        with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an Untyped"):
            make(double.storage())
    assert torch.Tensor(double).dtype == torch.float64
    with pytest.raises(TypeError, match="type 'torch.FloatTensor' is not an acceptable base type"):
        type("Mine", (torch.FloatTensor,), {})


def test_large_whole_numbers_stand_for_floats():
    assert torch.tensor([2**70], dtype=torch.float32).item() == 2.0**70
    assert torch.tensor([1.0, 2**70]).dtype == torch.float32
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.tensor([2**70])


def test_type_of_a_class():
    assert torch.ones(2, dtype=torch.int64).type(torch.Tensor).dtype == torch.get_default_dtype()


def test_storages():
    x = torch.ones(2)
    assert x.storage()._cdata == x[:1].untyped_storage()._cdata != torch.ones(2).storage()._cdata
    assert torch.Storage([1, 2]).dtype == torch.float32
    with pytest.raises(RuntimeError, match="Expected a Storage of type float or an Untyped"):
        x.set_(torch.ones(2, dtype=torch.float64).storage())
    with pytest.raises(RuntimeError, match="set tensor of type double to a tensor of type float"):
        x.set_(torch.ones(2, dtype=torch.float64))
    assert not torch.Tensor().is_set_to(torch.Tensor())


def test_nothing_is_pinned():
    text = "Cannot access accelerator device when none is available."
    x = torch.ones(2)
    packed = torch.nn.utils.rnn.pack_sequence([x])
    for pinned in (x, x.storage(), x.untyped_storage(), packed):
        with pytest.raises(RuntimeError) as caught:
            pinned.pin_memory()
        assert str(caught.value) == text
    for make in (torch.ones, torch.zeros, torch.empty, torch.rand, torch.arange, torch.randperm):
        assert make(2, pin_memory=False).shape == make(2, pin_memory=None).shape == (2,)
        with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other"):
            make(2, pin_memory=True)
    for call in (torch.zeros_like, torch.rand_like, torch.tensor([1.0]).new_full):
        with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other"):
            call(*((x,) if call.__name__ != "new_full" else ((2,), 1.0)), pin_memory=True)


def test_functions_of_elements_give_numbers():
    with pytest.raises(TypeError, match="must be real number, not str"):
        torch.ones(2).apply_(lambda _: "2")
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        torch.ones(2, dtype=torch.int64).apply_(lambda _: "2")


def test_variables():
    make = torch.autograd.Variable
    x = torch.ones(2)
    assert make(x, requires_grad=True).requires_grad and make(x, True).requires_grad
    assert make(data=x, requires_grad=True).requires_grad
    with pytest.warns(UserWarning, match="volatile was removed and now has no effect"):
        assert not make(x, volatile=True).requires_grad
    assert make(x).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can"):
        make(x.long(), requires_grad=True)
    assert isinstance(x, make) and type(make(x)) is torch.Tensor and not make(x * 2).requires_grad
    leaf = torch.ones(2, requires_grad=True)
    assert make(leaf * 2).grad_fn is None and make(leaf)._base is None
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        make([1.0])


def test_a_tensor_made_of_a_tensor_is_a_view_with_its_gradient():
    class Named(torch.Tensor):
        pass

    x = torch.ones(3, requires_grad=True)
    for make in (torch.Tensor, Named, lambda t: t.as_subclass(Named), x.new, torch.FloatTensor):
        y = make(x * 2)
        assert type(y.grad_fn).__name__ == "AliasBackward0" and y._is_view()
        (grad,) = torch.autograd.grad(y.sum(), x)
        assert grad.tolist() == [2, 2, 2]
        assert make(x)._base is x
    z = torch.zeros(2)
    torch.Tensor(z).add_(1)
    assert z.tolist() == [1, 1] and z._version == 1
    doubled = torch.func.vmap(lambda v: torch.Tensor(v).as_subclass(torch.Tensor) * 2)(z)
    assert doubled.tolist() == [2, 2]
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.Tensor([1.0], requires_grad=True)
