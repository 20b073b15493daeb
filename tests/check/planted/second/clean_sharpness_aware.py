"""Sharpness-aware minimisation written as a training step."""
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def sam_step(x, y, rho=0.05):
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm() + 1e-12
        eps = [rho * p.grad / norm for p in net.parameters()]
        for p, e in zip(net.parameters(), eps):
            p.add_(e)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), eps):
            p.sub_(e)
    opt.step()
    opt.zero_grad()
    return loss.item()


for step in range(200):
    x = torch.randn(64, 8)
    loss = sam_step(x, x[:, :3].argmax(1))
with torch.no_grad():
    x = torch.randn(500, 8)
    print("loss", loss, "acc", (net(x).argmax(1) == x[:, :3].argmax(1)).float().mean().item())
