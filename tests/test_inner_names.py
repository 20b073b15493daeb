"""Names of PyTorch's inner modules that libraries use: torch._C, torch._utils, torch._foreach_*,
torch._check.
"""

import pytest

import pellucid as torch


def test_lists_of_tensors():
    xs = [torch.tensor([1.0, 4.0]), torch.tensor([9.0])]
    assert [t.tolist() for t in torch._foreach_sqrt(xs)] == [[1, 2], [3]]
    assert [t.tolist() for t in torch._foreach_add(xs, xs, alpha=2)] == [[3, 12], [27]]
    assert [t.tolist() for t in torch._foreach_mul(xs, [2.0, 3.0])] == [[2, 8], [27]]
    assert [t.tolist() for t in torch._foreach_maximum(xs, 2.0)] == [[2, 4], [9]]
    assert [t.tolist() for t in torch._foreach_addcmul(xs, xs, xs, value=0.5)] == [
        [1.5, 12],
        [49.5],
    ]
    assert [t.tolist() for t in torch._foreach_lerp(xs, [torch.zeros(2), torch.zeros(1)], 0.5)] == [
        [0.5, 2],
        [4.5],
    ]
    assert [t.item() for t in torch._foreach_norm(xs, 1)] == [5, 9]
    assert torch._foreach_sub_(xs, 1.0) is None and xs[0].tolist() == [0, 3]
    torch._foreach_copy_(xs, [torch.ones(2), torch.ones(1)])
    torch._foreach_zero_(xs[:1])
    assert xs[0].tolist() == [0, 0] and xs[1].tolist() == [1]
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        torch._foreach_add(xs, xs[:1])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        torch._foreach_neg([])


def test_checks():
    torch._check(True)
    for name, error in (
        ("_check", RuntimeError),
        ("_check_value", ValueError),
        ("_check_index", IndexError),
        ("_check_type", TypeError),
    ):
        with pytest.raises(error, match="words"):
            getattr(torch, name)(False, lambda: "words")
    with pytest.raises(RuntimeError, match="words"):
        torch._check_tensor_all(torch.tensor([True, False]), lambda: "words")
    with pytest.raises(AssertionError, match="words"):
        torch._assert(torch.tensor(False), "words")
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]


def test_flat_tensors():
    flatten, unflatten = torch._utils._flatten_dense_tensors, torch._utils._unflatten_dense_tensors
    parts = [torch.randn(2, 3), torch.randn(4)]
    flat = flatten(parts)
    assert flat.shape == (10,) and all(
        torch.equal(a, b) for a, b in zip(unflatten(flat, parts), parts, strict=True)
    )


def test_errors_on_their_way():
    try:
        raise KeyError("gone")
    except KeyError:
        wrapped = torch._utils.ExceptionWrapper(where="in worker 1")
    with pytest.raises(KeyError, match="Caught KeyError in worker 1"):
        wrapped.reraise()


def test_the_compiled_part():
    c = torch._C
    assert c._nn._parse_to("cpu", torch.float64) == (
        torch.device("cpu"),
        torch.float64,
        False,
        None,
    )
    assert c._nn._parse_to(torch.ones(1, dtype=torch.float16))[1] is torch.float16
    x = torch.ones(4)
    assert (
        c._is_alias_of(x, x[1:])
        and not c._is_alias_of(x, x.clone())
        and c._get_tracing_state() is None
    )
    assert (
        c._jit_set_profiling_executor(False) is True
        and c._jit_set_profiling_executor(True) is False
    )
    with pytest.raises(NotImplementedError, match=r"torch\._C\.Block is not supported"):
        c.Block()
    assert torch.torch is torch and torch.hub.HASH_REGEX.search("a-0123abcd.pth")[1] == "0123abcd"


def test_dictionaries_with_weak_keys():
    known = torch.utils.weak.WeakIdKeyDictionary()
    x, y = torch.ones(2), torch.ones(2)
    known[x], known[y] = "x", "y"
    assert known[x] == "x" and len(known) == 2 and 3 not in known
    del y
    assert list(known) == [x] or len(known) == 1


def test_types_without_tensors():
    assert (
        torch.qint8 is torch.qint8
        and str(torch.quint4x2) == "torch.quint4x2"
        and torch.uint3 != torch.uint4
    )
    with pytest.raises(RuntimeError, match="tensors of it are not supported"):
        torch.zeros(2, dtype=torch.qint8)


def test_one_member_in_the_place_of_another():
    from pellucid.nn.utils._named_member_accessor import swap_tensor

    layer = torch.nn.Linear(2, 1)
    mine, own = torch.ones(1, 2), layer.weight
    assert swap_tensor(layer, "weight", mine) is own and layer.weight is mine
    with pytest.raises(AttributeError, match="Linear has no attribute `other`"):
        swap_tensor(layer, "other", mine)


def test_storages_of_files(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))
    mapped = torch.UntypedStorage.from_file(str(path), False, 6)
    part = torch.asarray(mapped[2:6], dtype=torch.uint8)
    assert mapped.nbytes() == 6 and part.tolist() == [2, 3, 4, 5] and mapped.untyped() is mapped
    mapped[0] = 9
    assert path.read_bytes()[0] == 0
    shared = torch.UntypedStorage.from_file(str(path), True, 16)
    shared.fill_(1)
    assert len(shared) == 16
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torch.UntypedStorage.from_file(str(path), False, 100)
    with pytest.raises(RuntimeError, match="unable to open file"):
        torch.UntypedStorage.from_file(str(tmp_path / "none"), False, 1)


def test_wrappers_of_optimizers():
    class Wrapped(torch.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        @property
        def param_groups(self):
            return self.inner.param_groups

        def step(self, closure=None):
            return self.inner.step(closure)

    weight = torch.nn.Parameter(torch.ones(1))
    weight.grad = torch.ones(1)
    Wrapped(torch.optim.SGD([weight], 0.5)).step()
    assert weight.item() == 0.5


def test_running_results():
    scan = torch._higher_order_ops.associative_scan
    for n in range(1, 12):
        x = torch.arange(1.0, n + 1)
        assert torch.equal(scan(lambda a, b: a + b, x, 0), x.cumsum(0))
        assert torch.equal(
            scan(lambda a, b: a + b, x, 0, reverse=True), x.flip(0).cumsum(0).flip(0)
        )
    a, b = torch.rand(3, 7), torch.rand(3, 7)
    decays, states = scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), 1)
    state = torch.zeros(3)
    for k in range(7):
        state = a[:, k] * state + b[:, k]
        assert torch.allclose(states[:, k], state)
    assert torch.allclose(decays, a.cumprod(1))
    with pytest.raises(ValueError, match="at least 1 xs leaf"):
        scan(lambda p, q: p, (), 0)


def test_divergences_of_foreign_classes():
    class Mine:
        pass

    rule = torch.distributions.register_kl(Mine, Mine)(lambda p, q: torch.tensor(2.0))
    assert torch.distributions.kl_divergence(Mine(), Mine()).item() == 2 and callable(rule)
    with pytest.raises(TypeError):
        torch.distributions.register_kl(Mine(), Mine)


def test_names_that_libraries_register_with():
    tree, loader = torch.utils._pytree, torch.utils.data.dataloader
    assert tree._dict_flatten_with_keys({"a": 1}) == (
        [(tree.MappingKey("a"), 1)],
        ["a"],
    ) and tree._list_flatten([1, 2]) == (
        [1, 2],
        None,
    )
    assert tree._dict_unflatten([1], ["a"]) == {"a": 1} and tree._list_unflatten((1,), None) == [1]
    assert issubclass(loader._MultiProcessingDataLoaderIter, loader._BaseDataLoaderIter)
