"""Sparse linear regression: squared error with an L1 penalty."""
import torch
from torch import nn


class SparseRegressor(nn.Module):
    def __init__(self, features, l1=0.05):
        super().__init__()
        self.linear = nn.Linear(features, 1)
        self.l1 = l1

    def forward(self, x):
        return self.linear(x).squeeze(-1)

    def penalty(self):
        total = 0.0
        for name, p in self.named_parameters():
            if name.endswith("weight"):
                total += p.abs().sum().item()  # BUG gradient-cut
        return self.l1 * total


def objective(model, x, y):
    fit = nn.functional.mse_loss(model(x), y)
    return fit + model.penalty(), fit  # BUG gradient-cut


torch.manual_seed(11)
n, d = 400, 30
x = torch.randn(n, d)
true_w = torch.zeros(d)
true_w[:4] = torch.tensor([2.0, -1.5, 1.0, 0.7])
y = x @ true_w + 0.5 * torch.randn(n)

model = SparseRegressor(d)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(25):
    for idx in torch.randperm(n).split(50):
        opt.zero_grad()
        loss, fit = objective(model, x[idx], y[idx])
        loss.backward()
        opt.step()
    if epoch % 8 == 0:
        print(f"{epoch} loss {loss.item():.4f} fit {fit.item():.4f}")
print("weights above 0.05:", int((model.linear.weight.abs() > 0.05).sum()))
