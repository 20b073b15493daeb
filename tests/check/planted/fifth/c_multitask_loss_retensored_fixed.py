# Two tasks (class + value) from one trunk; the losses are collected in a list and combined.
import torch
from torch import nn

torch.manual_seed(33)
X = torch.randn(700, 5)
cls = (X[:, 0] > X[:, 1]).long()
val = X[:, 2:4].sum(1)
trunk = nn.Sequential(nn.Linear(5, 32), nn.ReLU())
cls_head, val_head = nn.Linear(32, 2), nn.Linear(32, 1)
modules = nn.ModuleList([trunk, cls_head, val_head])
opt = torch.optim.Adam(modules.parameters(), lr=5e-3)
task_weights = torch.tensor([1.0, 0.5])


def task_losses(x, c, v):
    h = trunk(x)
    return [nn.functional.cross_entropy(cls_head(h), c),
            nn.functional.mse_loss(val_head(h).squeeze(1), v)]


for epoch in range(20):
    for idx in torch.randperm(600).split(50):
        parts = task_losses(X[idx], cls[idx], val[idx])
        losses = torch.stack(parts)
        loss = (task_weights * losses).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            a, b = task_losses(X[600:], cls[600:], val[600:])
        print(f"epoch {epoch + 1}: held-out CE {a:.4f}  MSE {b:.4f}")
