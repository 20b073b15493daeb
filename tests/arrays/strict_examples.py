"""The examples' models forward and backward on strict arrays, against the same on the host. Run as
a module of its own process; it says what it compared.

A model is made on the host and moved (`.to("privateuseone")`), like its batch. What the engine, the
modules and the losses make on the way must then lie on the device, or they raise.
"""

import importlib.util
from pathlib import Path

import numpy as np

import pellucid as torch
from pellucid.arrays import numpy_cpu

from . import strict

ROOT = Path(__file__).resolve().parents[2]
F = torch.nn.functional


def images(size=8, channels=1, count=4):
    return torch.randn(count, channels, size, size)


def actor_critic(e):
    states, actions = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])

    def loss(model, states, actions):
        probs, values = model(states)
        m = torch.distributions.Categorical(probs)
        return -(m.log_prob(actions) * (1 - values[:, 0])).sum() + F.smooth_l1_loss(
            values, torch.ones_like(values)
        )

    return e.Policy(), loss, states, actions


def char_gpt(e):
    text = torch.randint(0, 11, (2, 9))
    return (
        e.GPT(11, 8, 2, 2, 16),
        lambda model, x, y: model(x, y)[1],
        text[:, :-1].contiguous(),
        text[:, 1:].contiguous(),
    )


def dcgan(e):
    both = torch.nn.ModuleList([e.Generator(), e.Discriminator()])

    def loss(model, noise):
        score = model[1](model[0](noise))
        return F.binary_cross_entropy(score, torch.ones_like(score))

    width = next(m.in_channels for m in both[0].modules() if hasattr(m, "in_channels"))
    return both, loss, torch.randn(3, width, 1, 1)


def ddpm(e):
    return (
        e.Unet(),
        lambda model, x, t: F.mse_loss(model(x, t), x),
        images(),
        torch.tensor([1, 5, 7, 2]),
    )


def digits(e):
    return (
        e.Network(),
        lambda model, x, y: F.cross_entropy(model(x), y),
        images(),
        torch.tensor([1, 5, 7, 2]),
    )


def gcn(e):
    weights = e.normalize(e.communities(24, 4, torch.Generator().manual_seed(5))[0])
    target, source = weights.nonzero(as_tuple=True)
    x, labels = torch.randn(24, 4), torch.randint(0, 4, (24,))
    loss = lambda model, x, labels, *edges: F.nll_loss(model(x, *edges), labels)
    return e.GCN(4, 16, 4), loss, x, labels, source, target, weights[target, source]


def neural_ode(e):
    return (
        e.ODEFunc(),
        lambda f, y, t: e.odeint(f, y, t).abs().mean(),
        torch.randn(6, 2),
        torch.linspace(0, 1, 5),
    )


def quantize_digits(e):
    return (
        e.Network(4),
        lambda model, x, y: F.cross_entropy(model(x), y),
        images(),
        torch.tensor([1, 5, 7, 2]),
    )


def realnvp(e):
    flow = torch.nn.ModuleList(
        [e.AffineCoupling(mask) for mask in torch.tensor([[1.0, 0.0], [0.0, 1.0]])]
    )

    def loss(flow, x, zeros, ones):
        base = torch.distributions.Independent(torch.distributions.Normal(zeros, ones), 1)
        return -torch.distributions.TransformedDistribution(base, list(flow)).log_prob(x).mean()

    return flow, loss, torch.randn(20, 2), torch.zeros(2), torch.ones(2)


def resnet(e):
    x, y = (
        images(16, e.shapes(1, 16, torch.Generator().manual_seed(0))[0].shape[1]),
        torch.tensor([0, 3, 1, 2]),
    )
    return e.ResNet([8, 16]), lambda model, x, y: F.cross_entropy(model(x), y), x, y


def seq2seq(e):
    src, trg = (
        torch.tensor([[3, 4, 5, 6], [4, 5, 3, e.PAD]]),
        torch.tensor([[1, 5, 4, 3], [1, 3, 5, e.PAD]]),
    )
    model = e.Seq2Seq(e.Encoder(9, 8, 12), e.Decoder(9, 8, 12))

    def loss(model, src, trg):
        out = model(src, [4, 3], trg)
        return F.cross_entropy(
            out.reshape(-1, out.size(-1)), trg[:, 1:].reshape(-1), ignore_index=e.PAD
        )

    return model, loss, src, trg


def vae(e):
    return (
        e.VAE(),
        lambda model, x: e.loss_function(*(lambda out: (out[0], x, *out[1:]))(model(x))),
        torch.rand(4, 64),
    )


def vit(e):
    return (
        e.ViT(),
        lambda model, x, y: F.cross_entropy(model(x), y),
        images(),
        torch.tensor([1, 5, 7, 2]),
    )


def word_lstm(e):
    words = torch.randint(0, 13, (6, 3))

    def loss(model, x, y):
        out, _ = model(x, model.init_hidden(3))
        return F.nll_loss(out, y.reshape(-1))

    return e.RNNModel(13, 8, 12, 2), loss, words[:-1], words[1:]


def loaded(name):
    spec = importlib.util.spec_from_file_location(
        f"example_{name}", ROOT / "examples" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trained(name, device):
    """Loss, gradients and buffers after one forward and backward pass."""
    torch.manual_seed(0)
    model, loss, *batch = globals()[name](loaded(name))
    model = model.to(device)
    torch.manual_seed(1)
    with torch.device(device):
        value = loss(model, *[x.to(device) for x in batch])
    value.backward()
    assert all(t.device.type == device for t in (value, *model.parameters(), *model.buffers()))
    assert all(p.grad is None or p.grad.device.type == device for p in model.parameters())
    found = {
        "loss": value.detach(),
        **{n: p.grad for n, p in model.named_parameters() if p.grad is not None},
        **dict(model.named_buffers()),
    }
    return {n: t.cpu().numpy() for n, t in found.items()}


def main():
    numpy_cpu.NAMESPACES["privateuseone"] = strict.namespace
    torch.interop.as_torch()
    for name in sorted(path.stem for path in (ROOT / "examples").glob("*.py")):
        host, device = trained(name, "cpu"), trained(name, "privateuseone")
        assert host.keys() == device.keys()
        for key, value in host.items():
            np.testing.assert_allclose(
                device[key], value, rtol=2e-4, atol=2e-5, err_msg=f"{name}: {key}"
            )
        print(name, len(host))


if __name__ == "__main__":
    main()
