import torch
import torch.nn as nn
import torch.nn.functional as F


class Member(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x)


class DeepEnsemble(nn.Module):
    """Spread of the members is the uncertainty."""

    def __init__(self, k):
        super().__init__()
        self.members = nn.ModuleList([Member()] * k)  # BUG param-shared

    def forward(self, x):
        return torch.stack([m(x) for m in self.members])

    @torch.no_grad()
    def predict(self, x):
        out = self(x)
        return out.mean(0), out.std(0)


def sine(n, lo, hi, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 1, generator=g) * (hi - lo) + lo
    return x, torch.sin(2 * x) + 0.1 * torch.randn(n, 1, generator=g)


def train(ens, x, y, epochs):
    opt = torch.optim.Adam(ens.parameters(), lr=5e-3)
    ens.train()
    for ep in range(epochs):
        for idx in torch.randperm(len(x)).split(25):
            pred = ens(x[idx])
            loss = F.mse_loss(pred, y[idx].expand_as(pred))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 10 == 0:
            print(f"epoch {ep} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    x, y = sine(150, -1.5, 1.5, seed=1)
    ens = DeepEnsemble(4)
    train(ens, x, y, 40)
    ens.eval()
    inside = torch.linspace(-1.4, 1.4, 50)[:, None]
    outside = torch.linspace(3, 4, 50)[:, None]
    mu, sd_in = ens.predict(inside)
    _, sd_out = ens.predict(outside)
    err = F.mse_loss(mu, torch.sin(2 * inside)).item()
    print(f"final mse {err:.4f} spread inside {sd_in.mean():.4f} outside {sd_out.mean():.4f}")


main()
