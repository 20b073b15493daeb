"""Two losses balanced by learned uncertainty (Kendall et al.)."""
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class HP:
    lr: float = 3e-3
    steps: int = 250
    batch: int = 64


class UncertaintyLoss(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n))

    def forward(self, losses):
        losses = torch.stack(losses)
        return (torch.exp(-self.log_var) * losses + self.log_var).sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.Tanh())
        self.reg = nn.Linear(32, 1)
        self.cls = nn.Linear(32, 2)

    def forward(self, x):
        h = self.body(x)
        return self.reg(h).squeeze(1), self.cls(h)


def main(hp=HP()):
    torch.manual_seed(1)
    net, criterion = Net(), UncertaintyLoss(2)
    opt = torch.optim.Adam(net.parameters(), lr=hp.lr)  # BUG param-not-in-optimizer
    for step in range(hp.steps):
        x = torch.randn(hp.batch, 5)
        y_reg = 10 * x[:, 0] + torch.randn(hp.batch)
        y_cls = (x[:, 1] > 0).long()
        r, c = net(x)
        loss = criterion([nn.functional.mse_loss(r, y_reg), nn.functional.cross_entropy(c, y_cls)])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("log variances", criterion.log_var.tolist())
    print("regression mse", nn.functional.mse_loss(r, y_reg).item())


main()
