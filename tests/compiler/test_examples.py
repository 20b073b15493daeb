"""The models of `examples/`, each training step compiled as a whole: eager's losses over a hundred
steps, to float rounding.

Where training amplifies rounding, compiled and eager steps must not lie farther apart than eager
steps do from themselves when every parameter starts one unit in the last place away.
`python tests/compiler/test_examples.py` prints these distances as a table.
"""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

nn = torch.nn
EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = 100
ROUNDING = 1e-5  # relative; some tens of roundings in float32
# how many times as far as the nudged runs a compiled one may be where training is chaotic
AS_CHAOTIC = 8


def load(name):
    """An example's definitions, with this library under PyTorch's name."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    text = re.sub(r"^import torch$", "import pellucid as torch", text, flags=re.M)
    text = re.sub(r"^(import|from) torch\b", r"\1 pellucid", text, flags=re.M)
    module = types.ModuleType(f"example_{name}")
    module.__file__ = str(EXAMPLES / f"{name}.py")
    sys.modules[module.__name__] = module
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module


def trained(model, optimizer, loss_of, clip=None):
    def step(*batch):
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss.detach()

    step.modules = [model]
    return step


def normal(g, *shape):
    return torch.randn(*shape, generator=g)


def whole(g, n, *shape):
    return torch.randint(0, n, shape, generator=g)


def char_gpt(e):
    m = e.GPT(30, 16, 2, 2, 32)
    return trained(
        m, torch.optim.AdamW(m.parameters(), 1e-3), lambda x, y: m(x, y)[1], 1.0
    ), lambda g: (
        whole(g, 30, 4, 16),
        whole(g, 30, 4, 16),
    )


def dcgan(e):
    net, critic = e.Generator().apply(e.weights_init), e.Discriminator().apply(e.weights_init)
    slow, fast = (
        torch.optim.Adam(critic.parameters(), lr=2e-4),
        torch.optim.Adam(net.parameters(), lr=2e-4),
    )
    criterion = nn.BCELoss()

    def step(real):
        count = real.size(0)
        critic.zero_grad()
        ones, zeros = torch.full((count,), 1.0), torch.full((count,), 0.0)
        real_loss = criterion(critic(real).view(-1), ones)
        real_loss.backward()
        fake = net(torch.randn(count, e.NZ, 1, 1))
        fake_loss = criterion(critic(fake.detach()).view(-1), zeros)
        fake_loss.backward()
        slow.step()
        net.zero_grad()
        loss = criterion(critic(fake).view(-1), ones)
        loss.backward()
        fast.step()
        return loss.detach() + real_loss.detach() + fake_loss.detach()

    step.modules = [net, critic]
    return step, lambda g: (normal(g, 8, 1, 8, 8),)


def ddpm(e):
    m, diffusion = e.Unet(), e.Diffusion(20)
    return trained(
        m, torch.optim.AdamW(m.parameters(), 1e-3), lambda x, t: diffusion.loss(m, x, t), 1.0
    ), lambda g: (normal(g, 4, 1, 8, 8), whole(g, 20, 4))


def digits(e):
    m = e.Network()
    return trained(
        m,
        torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9),
        lambda x, y: F.cross_entropy(m(x), y),
    ), lambda g: (normal(g, 16, 1, 8, 8), whole(g, 10, 16))


def quantize_digits(e):
    m = e.Network(8)
    return trained(
        m, torch.optim.Adam(m.parameters(), lr=2e-3), lambda x, y: F.cross_entropy(m(x), y)
    ), lambda g: (normal(g, 16, 1, 8, 8), whole(g, 10, 16))


def gcn(e):
    m = e.GCN(4, 16, 4)
    g = torch.Generator().manual_seed(0)
    source, target, weight = whole(g, 30, 90), whole(g, 30, 90), torch.rand(90, generator=g)
    known = torch.arange(10)
    step = trained(
        m,
        torch.optim.Adam(m.parameters(), lr=0.01),
        lambda x, y: F.nll_loss(m(x, source, target, weight)[known], y),
    )
    return step, lambda g: (normal(g, 30, 4), whole(g, 4, 10))


def neural_ode(e):
    m = e.ODEFunc()
    t = torch.linspace(0.0, 0.2, 4)
    step = trained(
        m,
        torch.optim.RMSprop(m.parameters(), lr=1e-3),
        lambda y, wanted: (e.odeint(m, y, t) - wanted).abs().mean(),
    )
    return step, lambda g: (normal(g, 6, 1, 2), normal(g, 4, 6, 1, 2))


def realnvp(e):
    masks = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    m = nn.ModuleList([e.AffineCoupling(mask) for mask in masks])
    base = torch.distributions.Independent(
        torch.distributions.Normal(torch.zeros(2), torch.ones(2)), 1
    )
    flow = torch.distributions.TransformedDistribution(base, list(m), validate_args=False)
    return trained(
        m, torch.optim.Adam(m.parameters(), lr=5e-3), lambda x: -flow.log_prob(x).mean()
    ), lambda g: (normal(g, 16, 2),)


def resnet(e):
    m = e.ResNet((8, 16))
    step = trained(
        m, torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4),
        lambda x, y: F.cross_entropy(m(x), y, label_smoothing=0.05),
    )  # fmt: skip
    return step, lambda g: (normal(g, 4, 3, 16, 16), whole(g, 4, 4))


def vae(e):
    m = e.VAE()
    return trained(
        m, torch.optim.Adam(m.parameters(), lr=1e-3), lambda x: e.loss_function(*_parts(m(x), x))
    ), lambda g: (torch.rand(8, 64, generator=g),)


def _parts(made, x):
    rebuilt, mean, log_var = made
    return rebuilt, x, mean, log_var


def vit(e):
    m = e.ViT()
    return trained(
        m, torch.optim.AdamW(m.parameters(), lr=2e-3), lambda x, y: F.cross_entropy(m(x), y), 1.0
    ), lambda g: (normal(g, 8, 1, 8, 8), whole(g, 10, 8))


def word_lstm(e):
    m = e.RNNModel(len(e.WORDS), 16, 16, 2)

    def step(x, y, h, c):
        m.zero_grad()
        out, (h, c) = m(x, (h, c))
        loss = F.nll_loss(out, y)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 0.25)
        with torch.no_grad():
            for p in m.parameters():
                p.add_(p.grad, alpha=-0.5)
        return loss.detach() + h.detach().sum() + c.detach().sum()

    step.modules = [m]
    return step, lambda g: (
        whole(g, 20, 6, 4),
        whole(g, 20, 24),
        normal(g, 2, 4, 16),
        normal(g, 2, 4, 16),
    )


def seq2seq(e):
    """With sequences of one length and the known word as input: lengths and the choice of input are
    no part of a compiled step.
    """
    encoder, decoder = e.Encoder(13, 8, 16), e.Decoder(13, 8, 16)
    m = e.Seq2Seq(encoder, decoder)

    def loss_of(source, target):
        outputs, hidden = encoder.gru(encoder.embedding(source))
        hidden = torch.tanh(encoder.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))
        logits = []
        for t in range(target.size(1) - 1):
            output, hidden, _ = decoder(target[:, t], hidden, outputs, source != e.PAD)
            logits.append(output)
        return F.cross_entropy(
            torch.stack(logits, dim=1).flatten(0, 1), target[:, 1:].flatten(), ignore_index=e.PAD
        )

    return trained(m, torch.optim.Adam(m.parameters(), lr=3e-3), loss_of, 1.0), lambda g: (
        whole(g, 13, 6, 7),
        whole(g, 13, 6, 8),
    )


def actor_critic(e):
    m = e.Policy()

    def loss_of(states, actions, returns):
        probs, values = m(states)
        chosen = torch.distributions.Categorical(probs, validate_args=False).log_prob(actions)
        advantage = returns - values.squeeze(-1)
        return -(chosen * advantage.detach()).sum() + F.smooth_l1_loss(values.squeeze(-1), returns)

    return trained(m, torch.optim.Adam(m.parameters(), lr=3e-2), loss_of), lambda g: (
        normal(g, 12, 4),
        whole(g, 2, 12),
        normal(g, 12),
    )


MODELS = [
    char_gpt,
    dcgan,
    ddpm,
    digits,
    quantize_digits,
    gcn,
    neural_ode,
    realnvp,
    resnet,
    vae,
    vit,
    word_lstm,
    seq2seq,
    actor_critic,
]


def losses(make, example, compiled=False, towards=None):
    """(the losses of all steps, how many of them ran compiled); each parameter is first moved one
    unit of the last place `towards`.
    """
    torch.manual_seed(0)
    step, batch = make(example)
    if towards is not None:
        with torch.no_grad():
            for p in (p for module in step.modules for p in module.parameters()):
                p.copy_(torch.nextafter(p, torch.full_like(p, towards)))
    run = torch.compile(step) if compiled else step
    g = torch.Generator().manual_seed(1)
    made = np.array([run(*batch(g)).item() for _ in range(STEPS)])
    return made, sum(v.hits for v in run.versions) if compiled else 0


def distance(a, b):
    """The largest difference of two trajectories, relative to the loss where it is not near zero."""
    return float((np.abs(a - b) / np.maximum(np.abs(b), np.median(np.abs(b)))).max())


def distances(make):
    """(compiled from eager, eager from eager nudged up and down, compiled steps)."""
    example = load(make.__name__)
    eager, _ = losses(make, example)
    compiled, hits = losses(make, example, compiled=True)
    nudged = max(distance(losses(make, example, towards=t)[0], eager) for t in (np.inf, -np.inf))
    return distance(compiled, eager), nudged, hits


@pytest.mark.long
@pytest.mark.parametrize("make", MODELS, ids=lambda f: f.__name__)
def test_model(make):
    apart, nudged, hits = distances(make)
    assert hits >= STEPS - 3
    assert apart <= max(ROUNDING, AS_CHAOTIC * nudged) and apart < 0.05


def modules_of(function, found):
    """The modules that a function holds, directly or in the functions that it holds."""
    for cell in function.__closure__ or ():
        held = cell.cell_contents
        if isinstance(held, nn.Module):
            found.append(held)
        elif isinstance(held, types.FunctionType):
            modules_of(held, found)
    return found


# The modules of realnvp are transforms, which are called by other names.
@pytest.mark.long
@pytest.mark.parametrize("make", [m for m in MODELS if m is not realnvp], ids=lambda f: f.__name__)
def test_modules_alone(make):
    """The modules compiled, everything around them eager: their backward is one node of the graph."""
    example = load(make.__name__)
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        step, batch = make(example)
        found = [
            part
            for m in modules_of(step, [])
            for part in (m if isinstance(m, nn.ModuleList) else [m])
        ]
        modules = {id(m): m for m in found}
        assert modules
        if compiled:
            for module in modules.values():
                module.compile()
        g = torch.Generator().manual_seed(1)
        results.append([step(*batch(g)).item() for _ in range(12)])
    assert results[1] == pytest.approx(results[0], rel=2e-3, abs=2e-3)
    used = [m._compiled_call_impl for m in modules.values()]
    assert any(f.versions for f in used), [f.history for f in used]


def test_every_example_is_here():
    assert {make.__name__ for make in MODELS} == {path.stem for path in EXAMPLES.glob("*.py")}


if __name__ == "__main__":
    print(
        f"| example | compiled from eager, {STEPS} steps | eager from eager nudged by one unit in the last place |"
    )
    print("|---|---|---|")
    for make in MODELS:
        apart, nudged, _ = distances(make)
        print(f"| {make.__name__} | {apart:.1e} | {nudged:.1e} |")
