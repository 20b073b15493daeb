"""Fine-tune a classifier of ten classes for a task with three."""
import torch
import torch.nn.functional as F
from torch import nn


class Backbone(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.body(x))


torch.manual_seed(0)
model = Backbone()
model.fc.out_features = 3  # <- finding
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
y = torch.randint(0, 3, (300,))
x = torch.randn(3, 12)[y] * 2 + torch.randn(300, 12)
for epoch in range(6):
    for idx in torch.randperm(300).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
