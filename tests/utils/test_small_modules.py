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


def test_grouping_for_lists_of_tensors():
    from pellucid._C import _group_tensors_by_device_and_dtype
    from pellucid.utils._foreach_utils import _has_foreach_support

    single, double = torch.ones(2), torch.ones(1, dtype=torch.float64)
    lists = [[single, double, single], [None, 1, 2], []]
    groups = _group_tensors_by_device_and_dtype(lists, True)
    cpu = torch.device("cpu")
    assert list(groups) == [(cpu, torch.float32), (cpu, torch.float64)]
    assert groups[cpu, torch.float32] == ([[single, single], [None, 2], []], [0, 2])
    assert _group_tensors_by_device_and_dtype(lists)[cpu, torch.float64][1] == []
    for wrong, text in (
        ([], "nested_tensorlist.empty"),
        ([[]], "nested_tensorlist\\[0\\]"),
        ([[single], [1, 2]], "num_tensors"),
        ([[None]], "the 0-th Tensor is not"),
    ):
        with pytest.raises(RuntimeError, match=text):
            _group_tensors_by_device_and_dtype(wrong)
    assert _has_foreach_support([single, None], cpu)
    assert not _has_foreach_support([torch.nn.Parameter(single)], cpu)


def test_batches_with_parts_that_pin_themselves():
    from pellucid.utils.data import _utils

    pin_memory, pattern = (
        _utils.pin_memory.pin_memory,
        _utils.collate.np_str_obj_array_pattern,
    )

    class Own:
        def pin_memory(self):
            return "pinned"

    batch = {"a": [Own(), 1], "b": (Own(), "x"), "c": Point(Own(), None)}
    assert pin_memory(batch) == {
        "a": ["pinned", 1],
        "b": ("pinned", "x"),
        "c": Point("pinned", None),
    }
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        pin_memory([torch.ones(1)])
    assert pattern.search("<U3") and not pattern.search("<f4")
    assert torch.distributed.rpc.is_available() is False
    assert torch.distributed.autograd.is_available() is False
