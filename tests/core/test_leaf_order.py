"""In which order hooks of leaves run: PyTorch's, as its `order` in the records says."""

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.core.primitive import PRIMITIVES


def order(module, *inputs):
    names = []
    for name, p in module.named_parameters():
        p.register_hook(lambda g, name=name: names.append(name))
    out = module(*inputs)
    (out if isinstance(out, torch.Tensor) else out[0]).sum().backward()
    return " ".join(names)


@pytest.mark.parametrize("shape", [(2,), (1, 2), (3, 4, 2)])
def test_linear_gives_to_its_bias_first(shape):
    assert order(nn.Linear(2, 2), torch.ones(shape)) == "bias weight"
    assert (
        order(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2)), torch.ones(shape))
        == "1.bias 1.weight 0.bias 0.weight"
    )


def test_recurrent_layers():
    x = torch.ones(4, 1, 2)
    assert order(nn.GRU(2, 3), x) == "bias_hh_l0 weight_hh_l0 bias_ih_l0 weight_ih_l0"
    assert order(nn.RNN(2, 3, bias=False), x) == "weight_hh_l0 weight_ih_l0"
    assert order(nn.LSTM(2, 3), x) == "weight_ih_l0 bias_ih_l0 weight_hh_l0 bias_hh_l0"
    assert order(nn.LSTMCell(2, 3), x[0]) == "bias_ih weight_ih bias_hh weight_hh"
    assert order(nn.GRUCell(2, 3), x[0]) == "bias_hh weight_hh bias_ih weight_ih"


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_leaf_is_served_when_its_last_gradient_has_come(create_graph):
    names = []
    a, b, c = (torch.ones(2, requires_grad=True) for _ in range(3))
    for name, x in zip("abc", (a, b, c), strict=True):
        x.register_hook(lambda g, name=name: names.append(name))
    torch.stack([a.exp(), b, c.tanh(), a]).sum().backward(create_graph=create_graph)
    assert names == ["b", "c", "a"]


def test_a_step_of_an_optimizer_in_a_hook_sees_pytorchs_order():
    layer, seen = nn.Linear(2, 2), []
    for name, p in layer.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
    layer(layer(torch.ones(1, 2))).sum().backward()
    assert seen == ["bias", "weight"]


def test_an_order_names_all_arguments():
    for op in PRIMITIVES.values():
        assert not op.order or sorted(op.order) == sorted(op.args), op
