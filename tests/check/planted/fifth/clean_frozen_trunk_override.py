"""Fine-tune a head; the trunk stays in eval mode and frozen by design."""
import torch
from torch import nn


class Tuned(nn.Module):
    def __init__(self, trunk, width, classes):
        super().__init__()
        self.trunk = trunk.requires_grad_(False)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, classes))

    def train(self, mode=True):
        super().train(mode)
        self.trunk.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            h = self.trunk(x)
        return self.head(h)


torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 64), nn.BatchNorm1d(64), nn.ReLU())
x = torch.randn(300, 6)
y = (x[:, 0] + x[:, 1] ** 2 > 0.6).long()
trunk(x)
model = Tuned(trunk, 64, 2)
opt = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
for epoch in range(40):
    model.train()
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    print("accuracy", round((model(x).argmax(1) == y).float().mean().item(), 3))
