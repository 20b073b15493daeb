import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedCell(nn.Module):
    """Keeps a running usage count of its gate, cleared between updates."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.value = nn.Linear(n_in, n_out)
        self.gate = nn.Linear(n_in, n_out)
        self.usage = 0.0

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        self.usage += g.mean().item()
        return g * self.value(x)


class GatedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = GatedCell(6, 24)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        return self.head(self.cell(x)).squeeze(-1)

    def zero_grad(self, set_to_none=True):
        super().zero_grad(set_to_none=set_to_none)
        self.cell.usage = 0.0


def sample(n):
    x = torch.randn(n, 6)
    return x, torch.where(x[:, 0] > 0, x[:, 1] + x[:, 2], x[:, 3] - x[:, 4])


def main():
    torch.manual_seed(1)
    x, y = sample(1000)
    x_val, y_val = sample(300)
    net = GatedNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.8)
    for epoch in range(15):
        net.train()
        for idx in torch.randperm(1000).split(50):
            net.zero_grad()
            loss = F.mse_loss(net(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        usage = net.cell.usage
        net.eval()
        with torch.no_grad():
            print(f"epoch {epoch} val mse {F.mse_loss(net(x_val), y_val).item():.4f} gate {usage:.3f}")


if __name__ == "__main__":
    main()
