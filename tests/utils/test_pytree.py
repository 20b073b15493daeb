"""Nested containers taken apart and put together."""

import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import pellucid as torch
from pellucid.utils import _pytree as pytree

Point = namedtuple("Point", "x y")


def test_containers_come_back():
    tree = {
        "b": (1, [2, 3]),
        "a": Point(4, None),
        "o": OrderedDict(z=5),
        "d": defaultdict(list, {"k": 7}),
        "q": deque([8], maxlen=3),
    }
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, 3, 4, None, 5, 7, 8] and pytree.tree_unflatten(leaves, spec) == tree
    assert (spec.num_leaves, spec.num_children, spec.type) == (8, 5, dict)
    assert (
        repr(pytree.tree_structure((1, [2, 3])))
        == "TreeSpec(tuple, None, [*,\n  TreeSpec(list, None, [*,\n    *])])"
    )


def test_maps():
    assert pytree.tree_map(lambda a, b: a + b, (1, {"k": [2]}), (10, {"k": [20]})) == (
        11,
        {"k": [22]},
    )
    assert pytree.tree_map_only(int, lambda x: -x, (1, "a", [2])) == (-1, "a", [-2])
    assert pytree.tree_any(lambda x: x > 1, [1, 2]) and not pytree.tree_all(lambda x: x > 1, [1, 2])
    assert pytree.tree_map_with_path(lambda k, x: pytree.keystr(k), (1, {"a": Point(2, 3)})) == (
        "[0]",
        {"a": Point("[1]['a'].x", "[1]['a'].y")},
    )
    assert pytree.tree_leaves((1, [2]), is_leaf=lambda x: isinstance(x, list)) == [1, [2]]


def test_refusals():
    spec = pytree.tree_structure((1, 2))
    with pytest.raises(
        ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"
    ):
        pytree.tree_unflatten([1], spec)
    with pytest.raises(ValueError, match="Node arity mismatch; expected 2, but got 1"):
        spec.flatten_up_to((1,))
    with pytest.raises(ValueError, match="Node type mismatch"):
        spec.flatten_up_to([1, 2])
    with pytest.raises(ValueError, match=r"missing key\(s\): {'a'}; extra key\(s\): {'b'}"):
        pytree.tree_map(lambda a, b: 0, {"a": 1}, {"b": 1})
    with pytest.raises(TypeError, match="Expected `treespec` to be an instance of PyTreeSpec"):
        pytree.tree_unflatten([1], 3)


def test_classes_of_programs():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a], p.b), lambda values, b: Pair(*values, b))
    made = pytree.tree_map(lambda x: x * 2, [Pair(1, "b")])[0]
    assert (made.a, made.b) == (2, "b")
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Pair, None, None)


def test_structures_are_written():
    spec = pytree.tree_structure((1, [2, {"a": Point(3, 4)}]))
    assert pytree.treespec_loads(
        pytree.treespec_dumps(pytree.tree_structure((1, [2, {"a": 3}])))
    ) == pytree.tree_structure((1, [2, {"a": 3}]))
    assert (
        pytree._broadcast_to_and_flatten((0, 1), spec) == [0, 1, 1, 1]
        and pytree._broadcast_to_and_flatten((0,), spec) is None
    )


def test_struct_sequences():
    import time

    moment = time.gmtime(0)
    assert (
        pytree.is_structseq(moment)
        and pytree.is_structseq(type(moment))
        and pytree.is_structseq_instance(moment)
    )
    assert not pytree.is_structseq_instance((1,)) and not pytree.is_structseq_instance(Point(1, 2))


def test_registered_classes_are_containers_of_transforms():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    try:
        made = torch.vmap(lambda p: Pair(p.a + p.b, p.a * 2))(
            Pair(torch.arange(3.0), torch.ones(3))
        )
        assert made.a.tolist() == [1, 2, 3] and made.b.tolist() == [0, 2, 4]
        slope = torch.func.grad(lambda p: (p.a * p.b).sum())(
            Pair(torch.tensor([2.0]), torch.tensor([3.0]))
        )
        assert slope.a.item() == 3 and slope.b.item() == 2
    finally:
        pytree._deregister_pytree_node(Pair)


def test_one_module_under_both_names():
    assert importlib.import_module(f"{torch.__name__}.utils._pytree") is importlib.import_module(
        f"{torch.__name__}._pytree"
    )


def test_a_size_is_a_container_of_numbers():
    leaves, spec = pytree.tree_flatten(torch.Size([3, 4]))
    assert leaves == [3, 4] and spec.type is torch.Size
    doubled = pytree.tree_map(lambda n: n * 2, torch.Size([3, 4]))
    assert doubled == (6, 8) and type(doubled) is tuple
