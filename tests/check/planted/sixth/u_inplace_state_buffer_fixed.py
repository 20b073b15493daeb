import torch
import torch.nn as nn

torch.manual_seed(3)


class Rollout(nn.Module):
    """Rolls a learned dynamics model and keeps all states in one buffer."""

    def __init__(self, d=3, steps=8):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, d))
        self.steps = steps

    def forward(self, x0):
        states = [x0]
        for t in range(self.steps):
            states.append(states[-1] + 0.1 * self.f(states[-1]))
        return torch.stack(states[1:], dim=1)


A = torch.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -0.5]])


def simulate(x, steps=8):
    out = []
    for _ in range(steps):
        x = x + 0.1 * x @ A.T
        out.append(x)
    return torch.stack(out, 1)


model = Rollout()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(100):
    x0 = torch.randn(32, 3)
    loss = nn.functional.mse_loss(model(x0), simulate(x0))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        print(it, round(loss.item(), 5))
print("final", round(loss.item(), 5))
