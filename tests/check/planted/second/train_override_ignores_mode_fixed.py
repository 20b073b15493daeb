"""Fine-tuned net that keeps its first norm layer in eval mode."""
import torch
from torch import nn


class FineTune(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(12)
        self.body = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 3))

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self

    def forward(self, x):
        return self.body(self.norm(x))


def draw(n):
    x = torch.randn(n, 12)
    return x, x[:, :3].argmax(1)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x)
    return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


torch.manual_seed(0)
model = FineTune()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
xv, yv = draw(500)
for epoch in range(5):
    model.train()
    for _ in range(40):
        x, y = draw(64)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, "val loss %.3f acc %.3f" % evaluate(model, xv, yv))
