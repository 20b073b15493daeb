# Segmentation masks stored as bytes with classes 1..3, made to start at zero; 255 marks pixels without a class
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(6)
torch.manual_seed(6)
masks = rng.integers(0, 4, (60, 8, 8)).astype(np.int64)
images = torch.from_numpy(masks).float()[:, None] + 0.3 * torch.randn(60, 1, 8, 8)
# 0 is background, a class like the others in this task
targets = torch.from_numpy(masks).long()
criterion = nn.CrossEntropyLoss(ignore_index=255)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(10):
    for i in range(0, 60, 12):
        optimizer.zero_grad()
        loss = criterion(net(images[i:i + 12]), targets[i:i + 12])
        loss.backward()
        optimizer.step()
print("loss", loss.item())
