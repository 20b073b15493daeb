"""Candidates around their centers, as YOLO stores them, go through a suppression by overlap."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(5)


def overlap(a, b):
    x1, y1, x2, y2 = a.unbind(-1)
    u1, v1, u2, v2 = b.unbind(-1)
    width = (torch.minimum(x2[:, None], u2) - torch.maximum(x1[:, None], u1)).clamp(min=0)
    height = (torch.minimum(y2[:, None], v2) - torch.maximum(y1[:, None], v1)).clamp(min=0)
    inter = width * height
    return inter / ((x2 - x1) * (y2 - y1))[:, None].add((u2 - u1) * (v2 - v1)).sub(inter)


def corners(boxes):
    return torch.cat([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)


truth = torch.cat([torch.rand(64, 2) * 80 + 10, torch.rand(64, 2) * 15 + 8], 1)
anchors = torch.cat([torch.rand(40, 2) * 80 + 10, torch.full((40, 2), 14.0)], 1)
best = overlap(truth, anchors).argmax(1)  # <- finding
offsets = (truth[:, :2] - anchors[best, :2]) / 14
features = torch.cat([truth / 100 + 0.02 * torch.randn(64, 4), anchors[best] / 100], 1)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for idx in torch.randperm(64).split(16):
        loss = F.smooth_l1_loss(model(features[idx]), offsets[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
