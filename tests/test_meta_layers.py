"""Layers run on the meta device, in training and in evaluation: shapes without values."""

import pytest

import pellucid as torch
from pellucid import nn

LAYERS = {
    "batch_norm": (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4), (2, 3, 4, 4)),
    "batch_norm_rows": (lambda: nn.BatchNorm1d(3), (2, 3), (2, 3)),
    "instance_norm": (
        lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        (2, 3, 4, 4),
        (2, 3, 4, 4),
    ),
    "reflection": (lambda: nn.ReflectionPad2d(1), (2, 3, 4, 4), (2, 3, 6, 6)),
    "replication": (lambda: nn.ReplicationPad1d(2), (2, 3, 4), (2, 3, 8)),
    "alpha_dropout": (lambda: nn.AlphaDropout(), (2, 3), (2, 3)),
    "feature_alpha_dropout": (lambda: nn.FeatureAlphaDropout(), (2, 3, 4), (2, 3, 4)),
    "rrelu": (lambda: nn.RReLU(), (2, 3), (2, 3)),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_on_meta(name, training):
    make, shape, result = LAYERS[name]
    layer = make().to("meta").train(training)
    out = layer(torch.empty(shape, device="meta"))
    assert out.is_meta and tuple(out.shape) == result


TRAINED = {
    "linear": (lambda: nn.Linear(4, 3), (2, 4)),
    "conv": (lambda: nn.Conv2d(4, 3, 3, bias=False), (2, 4, 5, 5)),
    "transposed": (lambda: nn.ConvTranspose1d(4, 3, 2), (2, 4, 5)),
    "batch_norm": (lambda: nn.BatchNorm2d(4), (2, 4, 3, 3)),
    "layer_norm": (lambda: nn.LayerNorm(4), (2, 4)),
    "lstm": (lambda: nn.LSTM(4, 3, 2), (5, 2, 4)),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8), (5, 2, 4)),
    "pool": (lambda: nn.Sequential(nn.MaxPool1d(2), nn.GELU(), nn.Softmax(-1)), (2, 4, 6)),
}


@pytest.mark.parametrize("name", TRAINED)
def test_backward_on_meta(name):
    make, shape = TRAINED[name]
    layer = make().to("meta")
    x = torch.empty(shape, device="meta", requires_grad=True)
    for _ in range(2):
        out = layer(x)
        (out[0] if isinstance(out, tuple) else out).square().mean().backward()
    for t in (x, *layer.parameters()):
        assert t.grad.is_meta and t.grad.shape == t.shape and t.grad.stride() == t.stride()
    assert torch.autograd.grad(x.exp().sum(), x)[0].shape == x.shape


def test_more_of_backward_on_meta():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert g.is_meta
            return g * 2

    x = torch.empty(3, 2, device="meta", requires_grad=True)
    seen = []
    x.register_hook(seen.append)
    Twice.apply(x.t()[[0, 1]]).cumsum(0).split(1)[0].sum().backward()
    assert x.grad.is_meta and x.grad.shape == (3, 2) and seen[0].shape == (3, 2)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.requires_grad and torch.autograd.grad(g.sum(), x)[0].shape == (3, 2)
    e = nn.Embedding(5, 3, device="meta")
    labels = torch.tensor([1, 2], device="meta")
    nn.functional.cross_entropy(e(labels), labels).backward()
    assert e.weight.grad.shape == (5, 3)
    # indices may lie on the host; other operands may not
    assert x[torch.tensor([0, 2])].shape == x.index_select(0, torch.tensor([0, 2])).shape == (2, 2)
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(3, 2)


def test_optimizers_step_on_meta():
    for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad):
        layer = nn.Linear(3, 4, device="meta")
        layer(torch.empty(2, 3, device="meta")).sum().backward()
        optimizer = kind(layer.parameters(), lr=0.1)
        optimizer.step()
        optimizer.step()
        state = optimizer.state[layer.weight]
        assert all(t.shape == (4, 3) for name, t in state.items() if name != "step")
        assert state.get("step", 2) == 2 and layer.weight.is_meta
