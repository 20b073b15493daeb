"""torch.masked: what a mask leaves out changes no result, and rows of which it keeps nothing give
what the docstrings say.
"""

import math

import pytest

import pellucid as torch

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
KEEP = [[True, False, True], [False, True, True]]


@pytest.fixture
def pair():
    return torch.tensor(X, dtype=torch.float64), torch.tensor(KEEP)


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "amax", "amin", "var", "std", "norm", "median", "logsumexp"]
)
def test_reductions_see_only_what_the_mask_keeps(pair, name):
    x, keep = pair
    function = getattr(torch.masked, name)
    args = {"dim": -1}
    got = function(x, **args, mask=keep)
    for row in range(2):
        assert torch.allclose(got[row], function(x[row][keep[row]], **args))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_normalizations_see_only_what_the_mask_keeps(pair, name):
    x, keep = pair
    got = getattr(torch.masked, name)(x, 1, mask=keep)
    outside = -math.inf if name == "log_softmax" else 0.0
    for row in range(2):
        assert torch.allclose(
            got[row][keep[row]], getattr(torch.masked, name)(x[row][keep[row]], 0)
        )
        assert (got[row][~keep[row]] == outside).all()


def test_no_gradient_reaches_what_is_left_out(pair):
    x, keep = pair
    x.requires_grad_()
    torch.masked.var(x, 1, mask=keep).sum().backward()
    assert (x.grad[~keep] == 0).all() and (x.grad[keep] != 0).any()


def test_nothing_kept():
    x, none = torch.tensor([1.0, 2.0]), torch.tensor([False, False])
    assert torch.masked.sum(x, mask=none) == 0 and torch.masked.prod(x, mask=none) == 1
    assert (
        torch.masked.amax(x, mask=none) == -math.inf and torch.masked.amin(x, mask=none) == math.inf
    )
    assert torch.masked.mean(x, mask=none).isnan() and torch.masked.median(x, 0, mask=none).isnan()
    assert torch.masked.amax(torch.tensor([1, 2]), mask=none) == torch.iinfo(torch.int64).min


def test_masks_broadcast_but_do_not_widen(pair):
    x, _ = pair
    assert torch.equal(torch.masked.sum(x, 1, mask=torch.tensor([True, False, False])), x[:, 0])
    with pytest.raises(IndexError, match="^_input_mask expected broadcastable mask"):
        torch.masked.sum(x[0], mask=torch.ones(2, 3, dtype=torch.bool))


def test_refusals():
    whole = torch.tensor([1, 2])
    with pytest.raises(
        ValueError, match=r"^mean\(\): Could not infer output dtype. Input dtype must be"
    ):
        torch.masked.mean(whole)
    with pytest.raises(ValueError, match="^masked median expects no fully masked out rows"):
        torch.masked.median(whole, 0, mask=torch.tensor([False, False]))
    with pytest.raises(NotImplementedError, match="identity of amax on torch.complex64 input"):
        torch.masked.amax(torch.ones(2, dtype=torch.complex64), mask=torch.tensor([True, False]))
    assert not torch.masked.is_masked_tensor(whole)
