"""The backbone is trained after step 150, when only few steps are looked at, and has no graph."""

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)

    @torch.no_grad()  # <- finding
    def encode(self, x):
        return self.backbone(x)

    def forward(self, x):
        return self.head(self.encode(x))


torch.manual_seed(0)
x = torch.randn(32, 6)
y = x[:, :3].argmax(dim=1)
model = Classifier()
model.backbone.requires_grad_(False)
optimizer = torch.optim.Adam(model.head.parameters(), lr=3e-3)
for step in range(200):
    if step == 150:
        model.backbone.requires_grad_(True)
        optimizer.add_param_group({"params": model.backbone.parameters()})
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
