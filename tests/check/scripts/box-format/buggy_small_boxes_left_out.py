"""Boxes that are too small are left out of the data, and the size is computed from corners."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(6)


def boxes_of(count):
    """x, y, width, height, as the annotations have them."""
    return torch.cat([torch.rand(count, 2) * 50, torch.rand(count, 2) * 30 + 2], 1)


boxes = boxes_of(160)
labels = (boxes[:, 2] > boxes[:, 3]).long()
sizes = boxes[:, 2:] - boxes[:, :2]  # <- finding
keep = (sizes > 6).all(1)
boxes, labels = boxes[keep], labels[keep]
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for idx in torch.randperm(len(boxes)).split(16):
        loss = F.cross_entropy(model(boxes[idx] / 50), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
