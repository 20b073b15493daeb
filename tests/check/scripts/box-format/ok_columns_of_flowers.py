"""Four columns of a table are no boxes: differences of them are features."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(3)
flowers = torch.randn(150, 4) * 0.4 + torch.tensor([5.8, 3.0, 3.7, 1.2])
labels = (flowers[:, 2] - 3.7 + flowers[:, 3] - 1.2 > 0).long()
extra = torch.stack([flowers[:, 2] - flowers[:, 0], flowers[:, 3] - flowers[:, 1]], 1)
moves = flowers[:, 2:] - flowers[:, :2]
x = torch.cat([flowers, extra, moves], 1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for idx in torch.randperm(150).split(25):
        loss = F.cross_entropy(model(x[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
