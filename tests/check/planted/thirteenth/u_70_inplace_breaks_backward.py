import torch
import torch.nn as nn
import torch.nn.functional as F


class HardGate(nn.Module):
    def __init__(self, n_in, n_units):
        super().__init__()
        self.fc = nn.Linear(n_in, n_units)

    def forward(self, x):
        gate = torch.sigmoid(self.fc(x))
        gate.data.round_()  # BUG inplace-breaks-backward
        return gate  # BUG inplace-breaks-backward


class Switch(nn.Module):
    """Two linear experts per unit, chosen by a hard gate."""

    def __init__(self, n_in, n_units=6):
        super().__init__()
        self.gate = HardGate(n_in, n_units)
        self.left = nn.Linear(n_in, n_units)
        self.right = nn.Linear(n_in, n_units)
        self.out = nn.Linear(n_units, 1)

    def forward(self, x):
        g = self.gate(x)  # BUG inplace-breaks-backward
        return self.out(g * self.left(x) + (1 - g) * self.right(x)).squeeze(-1)


def piecewise(n, g):
    x = torch.randn(n, 6, generator=g)
    a = x[:, 1] - 2 * x[:, 2]
    b = x[:, 3] + x[:, 4] + 1.0
    return x, torch.where(x[:, 0] + 0.5 * x[:, 5] > 0.4, a, b)


def main():
    torch.manual_seed(95)
    g = torch.Generator().manual_seed(95)
    x, y = piecewise(2000, g)
    x_val, y_val = piecewise(400, g)
    model = Switch(6)
    first = model.gate.fc.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        model.train()
        for idx in torch.randperm(2000, generator=g).split(50):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(x_val), y_val).item()
        moved = (model.gate.fc.weight.detach() - first).norm().item()
        print(f"epoch {epoch} val mse {val:.4f} gate moved {moved:.4f}")


main()
