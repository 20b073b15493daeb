"""The Module: registration, walks, calls, saving, printing. What is compared with PyTorch stands in
tests/oracle/test_nn.py.
"""

import copy
import pickle

import pytest

import pellucid as torch
from pellucid.core import observe

nn = torch.nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.Tanh(), nn.Linear(3, 1))
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.shared = self.first.weight

    def forward(self, x):
        return self.rest(self.first(x))


def test_walks_give_everything_once_in_order():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "shared",
        "first.bias",
        "rest.1.weight",
        "rest.1.bias",
    ]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 5
    assert [n for n, _ in net.named_buffers()] == ["seen", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]


def test_state_dict_shares_memory_and_leaves_out_scratch_buffers():
    net = Net()
    state = net.state_dict()
    assert list(state) == [
        "shared",
        "seen",
        "first.weight",
        "first.bias",
        "rest.1.weight",
        "rest.1.bias",
    ]
    with torch.no_grad():
        net.first.bias.fill_(7)
    assert state["first.bias"].tolist() == [7, 7, 7]
    assert not state["first.bias"].requires_grad


def test_loading_copies_by_name_or_takes_the_tensors_themselves():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert (a.weight == b.weight).all()
    assert a.weight is not b.weight
    given = {k: v.double() for k, v in a.state_dict().items()}
    b.load_state_dict(given, assign=True)
    assert b.weight.dtype is torch.float64
    assert b.weight.requires_grad


def test_a_checkpoint_with_a_wrapper_s_prefix_gets_a_hint():
    net = nn.Linear(1, 1)
    with pytest.raises(
        RuntimeError,
        match=r"every name in the checkpoint begins with 'module\.'; strip it with \{k\.removeprefix",
    ) as caught:
        net.load_state_dict({"module." + k: v for k, v in net.state_dict().items()})
    assert str(caught.value).startswith(
        'Error(s) in loading state_dict for Linear:\n\tMissing key(s) in state_dict: "weight", "bias". '
    )


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent_and_keep_sharing(copied):
    net = Net()
    twin = copied(net)
    x = torch.randn(4, 2)
    assert torch.equal(net(x), twin(x))
    with torch.no_grad():
        twin.first.weight.zero_()
    assert net.first.weight.abs().sum() > 0
    assert copy.deepcopy(net).shared is not net.shared
    assert (lambda m: m.shared is m.first.weight)(copy.deepcopy(net))


def test_to_keeps_parameters_the_same_objects():
    net = nn.BatchNorm1d(2)
    weight = net.weight
    net.weight.grad = torch.ones(2)
    net.double()
    assert net.weight is weight
    assert weight.dtype is weight.grad.dtype is net.running_mean.dtype is torch.float64
    assert net.num_batches_tracked.dtype is torch.int64


def test_meta_modules_have_shapes_and_get_memory():
    net = nn.Linear(3, 2, device="meta")
    assert net.weight.is_meta
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        net.to("cpu")
    net.to_empty(device="cpu")
    assert net.weight.shape == (2, 3)
    assert not net.weight.is_meta
    assert net(torch.zeros(1, 3)).shape == (1, 2)


def test_hooks_run_in_order_and_go_away():
    net, seen = nn.Identity(), []
    first = net.register_forward_hook(lambda m, a, o: seen.append("first"))
    net.register_forward_hook(lambda m, a, o: seen.append("second"))
    net.register_forward_hook(lambda m, a, o: seen.append("before"), prepend=True)
    net.register_forward_pre_hook(lambda m, a, k: ((a[0] + 1,), k), with_kwargs=True)
    assert net(torch.zeros(1)).item() == 1
    assert seen == ["before", "first", "second"]
    first.remove()
    net(torch.zeros(1))
    assert seen[3:] == ["before", "second"]


def test_a_hook_that_is_always_called_sees_the_failure():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    net, seen = Fails(), []
    net.register_forward_hook(lambda m, a, o: seen.append(o), always_call=True)
    net.register_forward_hook(lambda m, a, o: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        net(1)
    assert seen == [None]


def test_global_hooks_see_every_module_until_removed():
    seen = []
    with nn.modules.module.register_module_forward_hook(
        lambda m, a, o: seen.append(type(m).__name__)
    ):
        nn.Sequential(nn.ReLU())(torch.zeros(1))
    nn.ReLU()(torch.zeros(1))
    assert seen == ["ReLU", "Sequential"]


def test_state_dict_hooks():
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("bias") and None)
    assert list(net.state_dict()) == ["weight"]
    net.register_load_state_dict_pre_hook(
        lambda m, state, *rest: state.setdefault("bias", torch.ones(1)) and None
    )
    net.load_state_dict({"weight": torch.ones(1, 1)})
    assert net.bias.item() == 1


def test_observers_are_told_the_path():
    class Watch:
        def __init__(self):
            self.log = []

        def module_enter(self, module, name, args, kwargs):
            self.log.append(("enter", name))

        def module_exit(self, module, name, result):
            self.log.append(("exit", name))

    net = Net()
    with observe.observing(Watch()) as watch:
        net(torch.zeros(1, 2))
    assert watch.log[:4] == [
        ("enter", "Net"),
        ("enter", "Net.first"),
        ("exit", "Net.first"),
        ("enter", "Net.rest"),
    ]
    assert watch.log[-1] == ("exit", "Net")


def test_lazy_modules_become_ordinary_ones():
    net = nn.LazyLinear(3)
    assert isinstance(net.weight, nn.UninitializedParameter)
    with pytest.raises(
        RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"
    ):
        _ = net.weight.shape
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        net.weight + 1
    assert net(torch.zeros(2, 5)).shape == (2, 3)
    assert type(net) is nn.Linear
    assert net.in_features == 5


def test_a_class_made_from_a_lazy_parameter_refuses_functions_however_its_object_was_made():
    class Mine(nn.UninitializedParameter):
        def __new__(cls, requires_grad=True):
            return torch.Tensor._make_subclass(cls, torch.empty(0), requires_grad)

    with pytest.raises(
        ValueError, match="Attempted to use an uninitialized parameter in <built-in"
    ):
        torch.exp(Mine())


def test_reparametrised_and_pruned_layers_still_compute():
    x = torch.randn(2, 3)
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
    pruned = nn.utils.prune.l1_unstructured(nn.Linear(3, 2), "weight", 0.5)
    plain = nn.functional.linear(x, pruned.weight, pruned.bias)
    assert torch.equal(pruned(x), plain)
    assert torch.allclose(normed(x), nn.functional.linear(x, normed.weight, normed.bias))
    assert int((pruned.weight == 0).sum()) == 3


def test_members_are_in_plain_dictionaries():
    net = nn.BatchNorm1d(3)
    for one in (net, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [type(one.__dict__[k]) for k in ("_parameters", "_buffers", "_modules")] == [
            dict
        ] * 3


def test_tables_of_global_hooks_under_pytorchs_names():
    from collections import OrderedDict

    home = nn.modules.module
    seen = []
    handle = home.register_module_forward_hook(
        lambda module, args, out: seen.append(type(module).__name__), always_call=True
    )
    assert len(home._global_forward_hooks) == len(home._global_forward_hooks_always_called) == 1
    nn.ReLU()(torch.ones(1))
    home._global_forward_hooks = OrderedDict()  # what programs do to be rid of all hooks
    nn.ReLU()(torch.ones(1))
    assert seen == ["ReLU"] and not home._global_forward_hooks
    handle.remove()
    assert not home._global_forward_hooks_always_called
    with pytest.raises(AttributeError, match="_global_sideways_hooks"):
        home._global_sideways_hooks


def test_the_handle_in_a_copy_removes_the_hook_of_the_copy():
    module = nn.Linear(2, 2)
    module.handle = module.register_forward_pre_hook(lambda *args: None)
    twin = copy.deepcopy(module)
    twin.handle.remove()
    assert len(module._forward_pre_hooks) == 1
    assert not twin._forward_pre_hooks


def test_a_linear_layer_looks_its_parameters_up_as_attributes():
    """A subclass may have a lookup of its own (pyro's modules do), and an attribute of the instance
    comes before a parameter.
    """
    seen = []

    class Watched(torch.nn.Linear):
        def __getattr__(self, name):
            seen.append(name)
            return super().__getattr__(name)

    layer = torch.nn.Linear(2, 2)
    layer.__class__ = Watched
    layer(torch.ones(1, 2))
    assert {"weight", "bias"} <= set(seen)

    class Doubled(torch.nn.Linear):
        def __getattr__(self, name):
            value = super().__getattr__(name)
            return 2 * value if name == "weight" else value

    plain = torch.nn.Linear(2, 2, bias=False)
    expected = plain(torch.ones(1, 2))
    plain.__class__ = Doubled
    assert torch.equal(plain(torch.ones(1, 2)), 2 * expected)

    plain = torch.nn.Linear(2, 2, bias=False)
    plain.__dict__["weight"] = torch.zeros(2, 2)
    assert plain(torch.ones(1, 2)).tolist() == [[0, 0]]
    assert torch.compile(plain)(torch.ones(1, 2)).tolist() == [[0, 0]]
