import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm


class CausalConv(nn.Module):
    def __init__(self, cin, cout, k, dilation):
        super().__init__()
        self.pad = (k - 1) * dilation
        self.conv = nn.Conv1d(cin, cout, k, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.pad, 0)))


class TCN(nn.Module):
    def __init__(self, c=24, levels=3):
        super().__init__()
        self.inp = nn.Conv1d(1, c, 1)
        self.layers = nn.ModuleList(CausalConv(c, c, 3, 2 ** i) for i in range(levels))
        self.out = nn.Conv1d(c, 1, 1)

    def forward(self, x):
        h = self.inp(x)
        for l in self.layers:
            h = h + F.relu(l(h))
        return self.out(h)


def apply_weight_norm(model):
    for l in model.layers:
        weight_norm(l.conv)
    weight_norm(model.inp)
    weight_norm(model.out)
    return model


def series(n, T, g):
    x = torch.randn(n, 1, T, generator=g)
    y = torch.zeros_like(x)
    y[..., 4:] = x[..., :-4] * x[..., 1:-3]
    y[..., 2:] += 0.5 * x[..., :-2].abs()
    return x, y


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    x, y = series(200, 32, g)
    xt, yt = series(60, 32, g)
    model = TCN()
    model = apply_weight_norm(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(18):
        model.train()
        for idx in torch.randperm(len(x)).split(20):
            loss = F.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 8 == 0:
            print(f"epoch {epoch} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        print(f"final test mse {F.mse_loss(model(xt), yt).item():.4f}")


main()
