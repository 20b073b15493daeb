"""A detector predicts corners, which are out of order in the beginning: that is not the format."""
import torch
from torch import nn

torch.manual_seed(7)


def box_loss(pred, truth):
    inter = (torch.min(pred[:, 2:], truth[:, 2:]) - torch.max(pred[:, :2], truth[:, :2])).clamp(min=0).prod(1)
    area = (pred[:, 2] - pred[:, 0]) * (pred[:, 3] - pred[:, 1])
    wanted = (truth[:, 2] - truth[:, 0]) * (truth[:, 3] - truth[:, 1])
    return (pred - truth).abs().mean() + (1 - inter / (area.abs() + wanted - inter + 1e-3)).mean() * 0.05


low = torch.rand(128, 2)
truth = torch.cat([low, low + 0.3 + torch.rand(128, 2) * 0.5], 1)
x = torch.cat([truth @ torch.randn(4, 12), torch.randn(128, 4)], 1)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for idx in torch.randperm(128).split(16):
        loss = box_loss(model(x[idx]), truth[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
