import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x)


class MixtureOfExperts(nn.Module):
    def __init__(self, d=4, h=16, n_experts=4):
        super().__init__()
        self.gate = nn.Linear(d, n_experts)
        names = [f"expert{i}" for i in range(n_experts)]
        self.experts = nn.ModuleDict({k: Expert(d, h) for k in names})
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        w = F.softmax(self.gate(x), dim=-1)
        outs = torch.cat([e(x) for e in self.experts.values()], dim=-1)
        return (w * outs).sum(-1) * self.log_scale.exp(), w


def piecewise(n, g):
    x = torch.rand(n, 4, generator=g) * 4 - 2
    y = torch.where(x[:, 0] > 0, 2 * x[:, 1], x[:, 2] ** 2) + 0.5 * torch.sin(3 * x[:, 3])
    return x, y


def main():
    torch.manual_seed(4)
    g = torch.Generator().manual_seed(4)
    x, y = piecewise(600, g)
    xt, yt = piecewise(200, g)
    model = MixtureOfExperts()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(40):
        model.train()
        for idx in torch.randperm(len(x)).split(50):
            pred, w = model(x[idx])
            balance = (w.mean(0) - 1 / w.shape[1]).pow(2).sum()
            loss = F.mse_loss(pred, y[idx]) + 0.01 * balance
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 10 == 0:
            print(epoch, f"{loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"final test mse {F.mse_loss(model(xt)[0], yt).item():.4f}")


main()
