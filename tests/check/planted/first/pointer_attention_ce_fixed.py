"""Pointer network: point at the maximum of a list of numbers."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Pointer(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.key = nn.Sequential(nn.Linear(1, d), nn.Tanh(), nn.Linear(d, d))
        self.query = nn.Sequential(nn.Linear(1, d), nn.Tanh(), nn.Linear(d, d))

    def scores(self, x):
        k = self.key(x.unsqueeze(-1))
        q = self.query(x.mean(1, keepdim=True))
        return torch.einsum("bnd,bd->bn", k, q) / k.shape[-1] ** 0.5

    def forward(self, x):
        attn = self.scores(x)
        return attn


def main():
    torch.manual_seed(0)
    net = Pointer()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses = []
    for step in range(250):
        x = torch.randn(64, 8)
        target = x.argmax(1)
        loss = F.cross_entropy(net(x), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    with torch.no_grad():
        x = torch.randn(500, 8)
        acc = (net(x).argmax(1) == x.argmax(1)).float().mean()
    print(f"loss {sum(losses[-20:]) / 20:.3f} accuracy {acc:.3f}")


main()
