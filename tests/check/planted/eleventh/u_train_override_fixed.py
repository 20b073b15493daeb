"""The first block has batch norms that stay fixed."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.body = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Dropout(0.5), nn.Linear(48, 2))

    def forward(self, x):
        return self.body(self.norm(x))

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self


torch.manual_seed(0)
x, x_val = torch.randn(100, 8), torch.randn(50, 8)
y, y_val = (x[:, 0] > 0).long(), (x_val[:, 0] > 0).long()
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    model.train()
    for xb, yb in zip(x.split(25), y.split(25)):
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        score = (model(x_val).argmax(1) == y_val).float().mean().item()
print("accuracy", round(score, 3), "training", model.body[2].training)
