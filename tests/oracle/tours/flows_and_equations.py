"""zuko and nflows: densities by flows. torchdiffeq and torchsde: equations with gradients. geoopt
and higher: manifolds, inner loops.
"""

import geoopt
import higher
import torch
import torchsde
import zuko
from _parts import show
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
data, context = torch.randn(16, 2), torch.randn(16, 3)
for kind in (
    zuko.flows.NSF,
    zuko.flows.MAF,
    zuko.flows.NICE,
    zuko.flows.UNAF,
    zuko.flows.NAF,
    zuko.flows.CNF,
    zuko.flows.GF,
):
    flow = (
        kind(2, 3, hidden_features=(8, 8))
        if kind is zuko.flows.CNF
        else kind(2, 3, transforms=2, hidden_features=(8, 8))
    )
    optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
    for _ in range(2):
        loss = -flow(context).log_prob(data).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    show(kind.__name__, loss)
show("drawn", zuko.flows.NSF(2, transforms=1, hidden_features=(8,))().rsample((4,)))

steps = []
for _ in range(2):
    steps += [ReversePermutation(2), MaskedAffineAutoregressiveTransform(2, 4)]
    steps += [
        MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            2, 4, tails="linear", tail_bound=3.0
        )
    ]
flow = Flow(CompositeTransform(steps), StandardNormal([2]))
optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
for _ in range(3):
    loss = -flow.log_prob(data).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("nflows", loss)
show("samples", flow.sample(5))


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )

    def forward(self, t, y):
        return self.net(y**3)


field, times = Field(), torch.linspace(0.0, 1.0, 5)
for solve, method in (
    (odeint, "dopri5"),
    (odeint_adjoint, "dopri5"),
    (odeint, "rk4"),
    (odeint, "implicit_adams"),
):
    start = data[:3].clone().requires_grad_()
    y = solve(field, start, times, method=method)
    y.pow(2).sum().backward()
    show(f"{solve.__name__} {method}", y)
    show("gradient", start.grad)
when, _ = odeint_event(
    lambda t, y: -y,
    torch.ones(1),
    torch.tensor(0.0),
    event_fn=lambda t, y: y[0] - 0.5,
    atol=1e-8,
    rtol=1e-8,
)
show("when", when)


class Noise(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Linear(2, 2)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return 0.1 * torch.ones_like(y)


noise = Noise()
for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):
    brownian = torchsde.BrownianInterval(
        0.0, 1.0, size=(3, 2), entropy=7, levy_area_approximation="space-time"
    )
    y = solve(
        noise,
        data[:3],
        times,
        bm=brownian,
        method="euler" if solve is torchsde.sdeint else None,
        dt=0.1,
    )
    noise.zero_grad()
    y.pow(2).mean().backward()
    show(solve.__name__, y)
    show("gradient", noise.drift.weight.grad)

ball = geoopt.PoincareBall()
point = geoopt.ManifoldParameter(torch.tensor([0.5, 0.3]), manifold=ball)
optimizer = geoopt.optim.RiemannianAdam([point], lr=0.05)
for _ in range(4):
    optimizer.zero_grad()
    loss = ball.dist(point, torch.tensor([-0.2, 0.1]))
    loss.backward()
    optimizer.step()
    show("distance", loss)
stiefel = geoopt.Stiefel()
frame = geoopt.ManifoldParameter(stiefel.random(4, 2), manifold=stiefel)
optimizer = geoopt.optim.RiemannianSGD([frame], lr=0.1, momentum=0.9)
for _ in range(3):
    optimizer.zero_grad()
    loss = (frame[0] ** 2).sum() - frame[1, 0]
    loss.backward()
    optimizer.step()
show("frame", loss)
print("orthogonal", torch.allclose(frame.T @ frame, torch.eye(2), atol=1e-5))

model = torch.nn.Linear(2, 1)
outer = torch.optim.Adam(model.parameters(), 0.01)
for _ in range(2):
    with higher.innerloop_ctx(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)) as (
        fast,
        inner,
    ):
        for _ in range(3):
            inner.step((fast(data) - data[:, :1]).pow(2).mean())
        loss = (fast(data) + data[:, 1:]).pow(2).mean()
        outer.zero_grad()
        loss.backward()
    outer.step()
    show("outer", loss)
show("gradient", model.weight.grad)
