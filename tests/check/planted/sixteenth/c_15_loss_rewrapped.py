import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def quantile_loss(pred, target, taus):
    losses = []
    for i, tau in enumerate(taus):
        err = target - pred[:, i]
        losses.append(torch.max(tau * err, (tau - 1) * err).mean().item())  # BUG gradient-cut|tensor-rewrap
    return torch.tensor(losses, requires_grad=True).sum()  # BUG gradient-cut|tensor-rewrap


class QuantileNet(nn.Module):
    def __init__(self, n_q):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, n_q))

    def forward(self, x):
        return self.body(x)


taus = [0.1, 0.5, 0.9]
x = torch.randn(400, 3)
y = 2 * x[:, 0] + x[:, 1].abs() * torch.randn(400)
dl = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
net = QuantileNet(len(taus))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    total = 0.0
    for xb, yb in dl:
        opt.zero_grad()
        loss = quantile_loss(net(xb), yb, taus)
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: pinball {total / len(dl):.4f}")
