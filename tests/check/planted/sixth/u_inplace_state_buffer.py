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
        states = x0.new_zeros(x0.size(0), self.steps + 1, x0.size(1))  # BUG inplace-breaks-backward
        states[:, 0] = x0  # BUG inplace-breaks-backward
        for t in range(self.steps):
            states[:, t + 1] = states[:, t] + 0.1 * self.f(states[:, t])  # BUG inplace-breaks-backward
        return states[:, 1:]  # BUG inplace-breaks-backward


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
