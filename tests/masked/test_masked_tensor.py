"""MaskedTensor: element-wise functions, reductions, moves, gradients, refusals."""

import copy

import numpy as np
import pytest

import pellucid as torch
from pellucid.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

DATA = torch.arange(6.0).reshape(2, 3) + 1
MASK = torch.tensor([[True, False, True], [False, False, False]])


def test_what_it_is():
    x = masked_tensor(DATA, MASK)
    assert is_masked_tensor(x) and isinstance(x, torch.Tensor) and not is_masked_tensor(DATA)
    assert (x.shape, x.dtype, x.ndim, x.numel(), len(x)) == (DATA.shape, torch.float32, 2, 6, 2)
    assert x.get_mask().tolist() == MASK.tolist()
    assert x.to_tensor(-1).tolist() == [[1, -1, 3], [-1, -1, -1]]
    assert repr(copy.deepcopy(x)) == repr(x)


def test_the_data_is_a_copy():
    data = DATA.clone()
    x = masked_tensor(data, MASK)
    data.fill_(0)
    assert x[0, 0].item() == 1


def test_element_by_element():
    x, y = masked_tensor(DATA, MASK), masked_tensor(DATA * 2, MASK)
    assert (x * y + 1).to_tensor(0).tolist() == [[3, 0, 19], [0, 0, 0]]
    assert (6 / x).to_tensor(0).tolist() == [[6, 0, 2], [0, 0, 0]]
    assert (x > 2).to_tensor(False).tolist() == [[False, False, True], [False] * 3]
    z = x.clone()
    assert z.add_(y) is z
    assert z.to_tensor(0).tolist() == [[3, 0, 9], [0, 0, 0]]
    assert x.to_tensor(0).tolist() == [[1, 0, 3], [0, 0, 0]]


def test_reductions_leave_out_what_is_masked():
    x = masked_tensor(DATA, MASK)
    assert x.mean().item() == 2
    rows = x.sum(1)
    assert rows.to_tensor(-1).tolist() == [4, -1]
    assert rows.get_mask().tolist() == [True, False]
    assert x.norm(dim=1, keepdim=True).to_tensor(0).tolist() == [[pytest.approx(10**0.5)], [0]]
    assert x.softmax(1).to_tensor(0)[0].sum().item() == pytest.approx(1)
    np.testing.assert_allclose(
        x.log_softmax(1).exp().to_tensor(0)[0].numpy(),
        x.softmax(1).to_tensor(0)[0].numpy(),
        rtol=1e-6,
    )


def test_an_element_that_is_masked_has_no_value():
    x = masked_tensor(DATA, MASK)
    with pytest.raises(ValueError, match="the element is masked"):
        x[0, 1].item()
    with pytest.raises(ValueError, match="the element is masked"):
        bool(x.sum(1)[1] > 0)


def test_moves_take_the_mask_along():
    x = masked_tensor(DATA, MASK)
    assert x.t().to_tensor(0).tolist() == [[1, 0], [0, 0], [3, 0]]
    assert torch.cat([x, x + 1])[2].to_tensor(0).tolist() == [2, 0, 4]
    assert [r.to_tensor(0).tolist() for r in x] == [[1, 0, 3], [0, 0, 0]]
    assert x.reshape(6)[::2].get_mask().tolist() == [True, True, False]


def test_gradients():
    x = masked_tensor(DATA, MASK, requires_grad=True)
    (x * x).log().sum().backward()
    assert is_masked_tensor(x.grad)
    np.testing.assert_allclose(x.grad.to_tensor(0).numpy(), [[2, 0, 2 / 3], [0, 0, 0]], rtol=1e-6)


def test_gradients_of_masked_elements_are_zero_even_where_they_are_not_finite():
    w = torch.tensor([4.0, 0.0], requires_grad=True)
    as_masked_tensor(w, torch.tensor([True, False])).sqrt().sum().backward()
    assert w.grad.tolist() == [0.25, 0]


@pytest.mark.parametrize("call", [
    lambda x: x.cumsum(0), lambda x: x @ DATA.T, lambda x: x.max(1), lambda x: x.numpy(), lambda x: x.tolist(),
    lambda x: torch.cat([x, DATA]), lambda x: torch.nn.functional.linear(x, DATA), lambda x: torch.nn.Linear(3, 1)(x),
    lambda x: x.__setitem__(0, 1.0), lambda x: DATA.clone().add_(x), lambda x: torch.nn.functional.mse_loss(x, DATA),
    lambda x: np.asarray(x),
])  # fmt: skip
def test_what_does_not_know_masks_is_refused(call):
    with pytest.raises((TypeError, NotImplementedError), match="masked tensor|MaskedTensor"):
        call(masked_tensor(DATA, MASK))


def test_refusals():
    x = masked_tensor(DATA, MASK)
    with pytest.raises(ValueError, match="^Input masks must match"):
        x + masked_tensor(DATA, ~MASK)
    with pytest.raises(
        TypeError, match="^MaskedTensor unary ops do not support additional Tensor arguments"
    ):
        torch.pow(x, x)
    with pytest.raises(TypeError, match="^data must be a Tensor"):
        MaskedTensor(x, MASK)
    with pytest.warns(
        UserWarning,
        match="^It is not recommended to create a MaskedTensor with a tensor that requires_grad",
    ):
        MaskedTensor(torch.ones(1, requires_grad=True), torch.tensor([True]))
