"""Piecewise regression: a hard gate routes every row to one of two experts."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Router(nn.Module):
    def __init__(self, dim, experts=2):
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(dim, 32), nn.Tanh(), nn.Linear(32, experts))
        self.experts = nn.Linear(dim, experts)

    def forward(self, x, tau):
        share = self.gate(x).softmax(dim=-1)
        if self.training:
            choice = F.gumbel_softmax(share.clamp_min(1e-8).log(), tau=tau, hard=True)
        else:
            choice = F.one_hot(share.argmax(-1), share.shape[-1]).float()
        return (choice * self.experts(x)).sum(-1), share


def piecewise(n):
    x = 2 * torch.rand(n, 2) - 1
    region = (x[:, 0] + 0.5 * x[:, 1] > 0).long()
    slope = torch.tensor([[2.0, 1.0], [-2.0, -1.0]])
    return x, (slope[region] * x).sum(1) + 2.0 * region


torch.manual_seed(1)
x, y = piecewise(1000)
x_val, y_val = piecewise(250)
net = Router(2)
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(200):
    net.train()
    idx = torch.randint(0, 1000, (128,))
    out, share = net(x[idx], tau=max(0.3, 1 - step / 200))
    loss = F.mse_loss(out, y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        net.eval()
        with torch.no_grad():
            val = F.mse_loss(net(x_val, tau=0.3)[0], y_val).item()
        print(f"step {step + 1} train {loss.item():.3f} val {val:.3f} used {share.mean(0).tolist()}")
