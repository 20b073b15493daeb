"""`requires_grad_()` of a tensor says nothing about views of another tensor on the same memory."""

import pellucid as torch


def test_views_of_the_source_of_a_detached_tensor_stay_as_they_are():
    base = torch.randn(5, 4)
    view, part = base.T.T, base[1:]
    leaf = view.detach()
    leaf.requires_grad_()
    assert leaf.requires_grad
    assert not (base.requires_grad or view.requires_grad or part.requires_grad)


def test_views_of_a_detached_tensor_stay_as_they_are():
    base = torch.randn(5, 4)
    leaf = base.detach()
    part = leaf[1:]
    base.requires_grad_()
    assert not (leaf.requires_grad or part.requires_grad)


def test_a_transform_leaves_its_argument_alone():
    w = torch.randn(5, 4).T.T
    torch.func.grad(lambda t: t.sigmoid().sum())(w.detach())
    assert not w.requires_grad


def test_views_follow_their_own_base():
    base = torch.randn(5, 4)
    view = base[:]
    base.requires_grad_()
    assert view.requires_grad
