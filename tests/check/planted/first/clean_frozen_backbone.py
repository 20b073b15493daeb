"""Linear probe on a frozen random-feature backbone with batch norm."""
import torch
from torch import nn


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.backbone.requires_grad_(False)
        self.head = nn.Linear(128, 3)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            h = self.backbone(x)
        return self.head(h)


torch.manual_seed(0)
model = Probe()
opt = torch.optim.Adam(model.head.parameters(), lr=1e-2)
for step in range(200):
    model.train()
    x = torch.randn(64, 6)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    x = torch.randn(500, 6)
    print("acc", (model(x).argmax(1) == x[:, :3].argmax(1)).float().mean().item())
