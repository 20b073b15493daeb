"""`x.data = y`: what a tensor may take over."""

import pytest

import pellucid as torch


@pytest.mark.parametrize(
    "new",
    [lambda: torch.ones(3).to_sparse(), lambda: torch.empty(3, device="meta")],
    ids=["sparse", "meta"],
)
@pytest.mark.parametrize("recorded", [False, True])
def test_memory_that_is_kept_otherwise_is_refused(new, recorded):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2 if recorded else x
    with pytest.raises(RuntimeError) as raised:
        y.data = new()
    assert str(raised.value) == (
        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
    )
    y.sum().backward()
    assert x.grad.tolist() == [1 + recorded] * 3


def test_other_shapes_and_dtypes_are_taken():
    x = torch.ones(3, requires_grad=True)
    x.data = torch.ones(2, 2, dtype=torch.float64)
    (x * 3).sum().backward()
    assert x.grad.dtype is torch.float64 and x.grad.shape == (2, 2)


def test_meta_takes_meta():
    x = torch.empty(3, device="meta")
    x.data = torch.empty(4, device="meta")
    assert x.shape == (4,)
