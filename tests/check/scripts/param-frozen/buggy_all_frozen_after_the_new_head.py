"""Fine-tuning: a new head on a frozen body."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.mid = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.adapter = nn.Linear(32, 32)
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        h = self.mid(self.stem(x))
        return self.fc(h + self.adapter(h))


def finetune(model, classes):
    model.fc = nn.Linear(32, classes)
    for p in model.parameters():
        p.requires_grad = False  # <- finding
    model.adapter.requires_grad_(True)
    return model


torch.manual_seed(0)
model = finetune(Backbone(), 3)
x = torch.randn(96, 12)
y = x[:, :3].argmax(1)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
before = model.fc.weight.detach().clone()
for epoch in range(5):
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3), "head moved", bool((model.fc.weight != before).any()))
