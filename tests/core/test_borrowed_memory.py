"""Nodes that borrow memory until somebody writes to it."""

import gc
import weakref

import numpy as np
import pytest

import pellucid as torch
from pellucid.nn import functional as F

LABELS = torch.tensor([0, 1, 2])
WRITES = {
    "in place": lambda x: x.mul_(2),
    "zeros": lambda x: x.zero_(),
    "element": lambda x: x.__setitem__(0, 5.0),
    "copy": lambda x: x.copy_(x.flip(0)),
    "a detached tensor": lambda x: x.detach().mul_(2),
    "data": lambda x: x.data.mul_(2),
    "an array": lambda x: np.multiply(x.detach().numpy(), 2, out=x.detach().numpy()),
    "random numbers": lambda x: x.normal_(),
    "a view": lambda x: x[1:].zero_(),
    "an activation": lambda x: F.relu(x, inplace=True),
    "out": lambda x: torch.mul(x, 2, out=x),
}


def scores():
    return torch.arange(12.0).reshape(3, 4).sin().requires_grad_()


def gradients(write):
    leaf = scores()
    x = leaf.clone()
    loss = F.cross_entropy(x, LABELS)
    with torch.no_grad():
        write(x)
    (first,) = torch.autograd.grad(loss, leaf, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), leaf)
    return first, second


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_cross_entropy_reads_what_the_scores_were(write):
    for found, wanted in zip(gradients(write), gradients(lambda x: None), strict=True):
        assert torch.equal(found, wanted)


HANDLES = {
    "data": lambda x: x.data,
    "an array": lambda x: torch.from_numpy(x.detach().numpy()),
    "data of a view": lambda x: x.view(-1).data,
    "the storage": lambda x: torch.empty(0).set_(x.untyped_storage(), 0, (12,)),
}


@pytest.mark.parametrize("handle", HANDLES.values(), ids=HANDLES)
def test_cross_entropy_copies_what_may_be_written_past_the_counter(handle):
    leaf = scores()
    x = leaf.clone()
    before = handle(x)
    loss = F.cross_entropy(x, LABELS)
    before.zero_()
    (first,) = torch.autograd.grad(loss, leaf)
    assert torch.allclose(first, gradients(lambda x: None)[0])


def test_data_that_becomes_a_leaf_is_read_as_it_was():
    x = scores().detach()
    leaf = x.data.requires_grad_()
    loss = F.cross_entropy(leaf, LABELS)
    x.zero_()
    (first,) = torch.autograd.grad(loss, leaf)
    assert torch.allclose(first, gradients(lambda x: None)[0])


def test_an_array_that_becomes_a_leaf_is_read_as_it_was():
    a = scores().detach().numpy().copy()
    leaf = torch.from_numpy(a).requires_grad_()
    loss = F.cross_entropy(leaf, LABELS)
    a[:] = 0
    (first,) = torch.autograd.grad(loss, leaf)
    assert torch.allclose(first, gradients(lambda x: None)[0])


def test_a_leaf_may_be_written_to_as_well():
    x = scores()
    loss = F.cross_entropy(x, LABELS)
    with torch.no_grad():
        x.zero_()
    (first,) = torch.autograd.grad(loss, x, create_graph=True)
    assert torch.equal(first, gradients(lambda x: None)[0])


def test_a_recorded_write_goes_its_own_way():
    x = scores()
    y = x * 1
    loss = F.cross_entropy(y, LABELS)
    y.mul_(2)
    (loss + y.sum()).backward()
    assert torch.allclose(x.grad, gradients(lambda x: None)[0] + 2)


def test_labels_are_still_minded():
    labels = LABELS.clone()
    loss = F.cross_entropy(scores(), labels)
    labels.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_borrowing_keeps_nothing_alive():
    x = scores()
    for _ in range(50):
        loss = F.cross_entropy(x, LABELS)
    node = weakref.ref(loss.grad_fn)
    assert len(x._ver.borrowers) < 20
    del loss
    gc.collect()
    assert node() is None


def test_a_mask_may_be_written_to():
    x = scores()
    mask = torch.ones(3, 4, dtype=torch.bool)
    y = torch.masked.softmax(x, 1, mask=mask)
    mask.zero_()
    y.sum().backward()
    assert x.grad.isfinite().all()


def test_positions_along_a_dimension_may_be_written_to():
    x = scores()
    at = torch.tensor([[1], [2], [0]])
    y = torch.take_along_dim(x, at, 1)
    at.zero_()
    y.sum().backward()
    assert x.grad.argmax(1).tolist() == [1, 2, 0]
