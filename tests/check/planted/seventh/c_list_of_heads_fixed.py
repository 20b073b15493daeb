# Multi-task sensor model: one shared trunk, one head for every target
import torch
from torch import nn


class MultiHead(nn.Module):
    def __init__(self, d_in, n_tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(32, 1) for _ in range(n_tasks)])

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], dim=1)


torch.manual_seed(9)
X = torch.randn(600, 8)
T = torch.cat([X[:, :1] + 5.0, X[:, 1:2] * 2 - 4.0, X[:, 2:3] ** 2 + 8.0], dim=1)
model = MultiHead(8, 3)
print("parameters:", sum(p.numel() for p in model.parameters()))
before = [h.weight.clone() for h in model.heads]
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(40):
    for b in torch.randperm(600).split(60):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(X[b]), T[b])
        loss.backward()
        opt.step()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1}: mse {loss.item():.4f}")
moved = [not torch.equal(a, h.weight) for a, h in zip(before, model.heads)]
print("heads trained:", moved)
