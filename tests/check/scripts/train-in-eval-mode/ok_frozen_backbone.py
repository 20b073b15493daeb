"""Transfer learning: the frozen backbone stays in eval mode, the new head is in train mode."""

import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
for p in backbone.parameters():
    p.requires_grad_(False)
backbone.eval()
head = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
optimizer = torch.optim.Adam(head.parameters(), lr=0.01)
x, y = torch.randn(16, 1, 6, 6), torch.randint(0, 3, (16,))
for epoch in range(3):
    head.train()
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    head.eval()
    with torch.no_grad():
        print(epoch, (head(backbone(x)).argmax(1) == y).float().mean().item())
