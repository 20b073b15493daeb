"""Modules of torch.utils that projects import a name or two from."""

from collections import namedtuple

import pytest

import pellucid as torch
from pellucid.utils import _pytree, dlpack, hooks, model_zoo

Point = namedtuple("Point", "x y")


def test_trees():
    tree = {"a": [torch.ones(2), 3], "b": Point(torch.zeros(1), None)}
    leaves, spec = _pytree.tree_flatten(tree)
    assert len(leaves) == 4 and _pytree.tree_leaves(tree)[1] == 3
    again = _pytree.tree_unflatten(leaves, spec)
    assert type(again["b"]) is Point and again["a"][0] is tree["a"][0]
    doubled = _pytree.tree_map_only(torch.Tensor, lambda t: t * 2, tree)
    assert doubled["a"][0].tolist() == [2, 2] and doubled["a"][1] == 3
    assert _pytree.tree_map(lambda a, b: a + b, {"k": (1, 2)}, {"k": (10, 20)}) == {"k": (11, 22)}
    with pytest.raises(ValueError, match="Node type mismatch"):
        _pytree.tree_map(lambda a, b: a, (1, 2), [1, 2, 3])


def test_names():
    handle = torch.nn.Linear(1, 1).register_forward_hook(lambda *args: None)
    assert isinstance(handle, hooks.RemovableHandle)
    assert dlpack.from_dlpack(dlpack.to_dlpack(torch.ones(2))).tolist() == [1, 1]
    x = torch.ones(2)
    shared = dlpack.from_dlpack(dlpack.to_dlpack(x))
    shared[0] = 5
    assert x.tolist() == [5, 1]  # the capsule shares memory, as PyTorch's does
    assert model_zoo.load_url is torch.hub.load_state_dict_from_url
