"""Weights that are kept orthogonal: each map, with a trivialization and without."""

import pytest

import pellucid as torch
from pellucid.nn.utils.parametrizations import orthogonal

MAPS = [None, "matrix_exp", "cayley", "householder"]


def eye(weight):
    tall = weight if weight.shape[0] >= weight.shape[1] else weight.mT
    return tall.mH @ tall


@pytest.mark.parametrize("trivialization", [True, False])
@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("size", [(4, 4), (4, 3), (3, 4)])
def test_the_weight_is_orthogonal_and_learns(size, kind, trivialization):
    layer = torch.nn.Linear(*size, dtype=torch.float64)
    orthogonal(layer, orthogonal_map=kind, use_trivialization=trivialization)
    names = set(layer.state_dict())
    assert ("parametrizations.weight.0.base" in names) == trivialization
    layer.weight.pow(3).sum().backward()
    with torch.no_grad():
        original = layer.parametrizations.weight.original
        if kind != "householder" and not (kind is None and size[0] != size[1]):
            original -= 0.1 * original.grad
    wanted = torch.eye(min(size), dtype=torch.float64)
    assert torch.allclose(eye(layer.weight), wanted)


@pytest.mark.parametrize("kind", MAPS)
def test_a_trivialization_starts_at_minus_the_identity(kind):
    layer = torch.nn.Linear(3, 3)
    before = torch.linalg.qr(layer.weight.detach())
    orthogonal(layer, orthogonal_map=kind)
    assert torch.equal(layer.parametrizations.weight.original, -torch.eye(3))
    signs = before.R.diagonal().sign()
    assert torch.allclose(layer.weight, before.Q * signs, atol=1e-6)


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley"])
def test_without_a_trivialization_the_original_is_the_weight_and_cannot_be_assigned(kind):
    layer = torch.nn.Linear(3, 3)
    weight = layer.weight.detach().clone()
    orthogonal(layer, orthogonal_map=kind, use_trivialization=False)
    assert torch.equal(layer.parametrizations.weight.original, weight)
    with pytest.raises(NotImplementedError, match="It is not possible to assign to the matrix"):
        layer.weight = torch.eye(3)


def test_what_is_assigned_is_taken():
    for kind in ("matrix_exp", "householder"):
        layer = orthogonal(torch.nn.Linear(3, 3), orthogonal_map=kind)
        turned = torch.eye(3)[[2, 0, 1]]
        layer.weight = turned
        assert torch.allclose(layer.weight, turned, atol=1e-6)
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices of shape"):
        layer.weight = torch.eye(2)


def test_refusals():
    with pytest.raises(ValueError, match="does not support complex tensors"):
        orthogonal(torch.nn.Linear(3, 2, dtype=torch.complex64), orthogonal_map="householder")
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        orthogonal(torch.nn.Linear(3, 2), orthogonal_map="other")
