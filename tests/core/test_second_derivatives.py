"""What recorded gradients stay connected to: a second derivative that is zero is zeros, as in
PyTorch, and no error.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F

PRELU = torch.tensor([0.2])
WEIGHT = torch.ones(2, 2, 2, 2)
GRID = torch.zeros(1, 3, 3, 2)

ZEROS = {
    "relu": F.relu,
    "relu_": lambda x: x.clone().relu_(),
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "prelu": lambda x: F.prelu(x, PRELU),
    "max_pool1d": lambda x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "fractional_max_pool2d": lambda x: F.fractional_max_pool2d(x, 2, 2),
    "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
    "nll_loss": lambda x: F.nll_loss(x[0, 0], torch.tensor([0, 1, 2, 3])),
    "rnn_relu": lambda x: torch.nn.RNN(4, 2, nonlinearity="relu")(x[0])[0],
}
NOTHING = {
    "conv2d": lambda x: F.conv2d(x, WEIGHT),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, WEIGHT),
    "grid_sample": lambda x: F.grid_sample(x, GRID, align_corners=False),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(2), torch.ones(2)),
}
UNUSED = {"sum": torch.sum, "clamp": lambda x: x.clamp(0, 1), "max": lambda x: x.max(1)[0]}


def first(function):
    torch.manual_seed(0)
    x = torch.randn(1, 2, 4, 4, requires_grad=True)
    return x, *torch.autograd.grad(function(x).sum(), x, create_graph=True)


@pytest.mark.parametrize("name", ZEROS)
def test_zeros(name):
    x, g = first(ZEROS[name])
    assert g.requires_grad
    assert torch.equal(torch.autograd.grad(g.sum(), x)[0], torch.zeros_like(x))


@pytest.mark.parametrize("name", NOTHING)
def test_connected_and_none(name):
    x, g = first(NOTHING[name])
    assert g.requires_grad
    assert torch.autograd.grad(g.sum(), x, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(first(NOTHING[name])[1].sum(), x)


@pytest.mark.parametrize("name", UNUSED)
def test_not_connected(name):
    assert not first(UNUSED[name])[1].requires_grad


def test_the_gradient_penalty_reaches_every_bias():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    x = torch.randn(5, 3, requires_grad=True)
    (g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    (g.norm(dim=1) - 1).pow(2).mean().backward()
    assert torch.equal(net[0].bias.grad, torch.zeros(4)) and net[2].bias.grad is None
    assert torch.equal(x.grad, torch.zeros(5, 3))


def test_nodes_go_by_pytorchs_names():
    names = [first(f)[1].grad_fn.name() for f in (F.leaky_relu, ZEROS["max_pool2d"], F.hardtanh)]
    assert names == [
        "LeakyReluBackwardBackward0",
        "MaxPool2DWithIndicesBackwardBackward0",
        "HardtanhBackwardBackward0",
    ]
    _, g = first(NOTHING["conv2d"])
    assert g.grad_fn.name() == "ConvolutionBackwardBackward0"


def test_forward_over_reverse_and_compiled():
    x = torch.tensor([-1.0, 2.0])

    def slope(x):
        return torch.func.grad(lambda x: (F.relu(x) * torch.tensor([2.0, 3.0])).sum())(x)

    made, tangent = torch.func.jvp(slope, (x,), (torch.ones(2),))
    assert made.tolist() == [0.0, 3.0] and tangent.tolist() == [0.0, 0.0]
    assert torch.func.hessian(lambda x: F.relu(x).sum())(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    batch = torch.func.vmap(torch.func.jacrev(slope))(torch.stack([x, -x]))
    assert batch.abs().sum() == 0 and batch.shape == (2, 2, 2)

    def twice(x):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(F.relu(x).sum(), x, create_graph=True)
        return torch.autograd.grad((g * g).sum(), x)[0]

    compiled = torch.compile(twice)
    assert all(compiled(x * k).tolist() == [0.0, 0.0] for k in (1, 2, 3))


def test_tangents_are_connected_to_nothing_else():
    x, t = torch.randn(1, 1, 4), torch.randn(1, 1, 4)
    weight = torch.ones(1, 1, 2)
    for f in (lambda x: F.conv1d(x, weight).sin(), lambda x: F.layer_norm(x, (4,)).relu()):
        made, tangent = torch.func.jvp(f, (x,), (t,))
        assert not made.requires_grad and not tangent.requires_grad


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.GroupNorm(2, 4),
        torch.nn.InstanceNorm1d(4, affine=True),
        torch.nn.BatchNorm1d(4),
        torch.nn.PReLU(4),
        torch.nn.ConvTranspose1d(4, 3, 2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_gradients_of_weights_stay_connected_to_weights(module):
    y = module(torch.randn(3, 4, 5)).sum()
    (grad,) = torch.autograd.grad(y, module.weight, create_graph=True)
    assert grad.requires_grad
    (second,) = torch.autograd.grad(grad.sum(), module.weight, allow_unused=True)
    assert second is None or not second.any()
