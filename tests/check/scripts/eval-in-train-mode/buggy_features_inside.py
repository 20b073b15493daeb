"""A frozen backbone with batch norm is in eval mode until the second epoch, which calls `train()` after validation."""

import torch
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    @torch.no_grad()
    def features(self, x):
        return self.backbone(x)

    def forward(self, x):
        return self.head(self.features(x))


model = Classifier()
for p in model.backbone.parameters():
    p.requires_grad = False
model.backbone.eval()
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.05)
x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
for epoch in range(3):
    for rows in torch.randperm(64).split(16):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x).argmax(1) == y).float().mean().item())
    model.train()  # <- finding
