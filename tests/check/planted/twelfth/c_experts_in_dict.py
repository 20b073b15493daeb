"""A model with one small head per task."""

import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.heads = {name: nn.Linear(32, size) for name, size in tasks.items()}  # BUG param-not-in-optimizer

    def forward(self, x):
        h = self.shared(x)
        return {name: head(h) for name, head in self.heads.items()}


torch.manual_seed(12)
tasks = {"age": 1, "mood": 3}
model = MultiTask(tasks)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)  # BUG param-not-in-optimizer
for step in range(30):
    x = torch.randn(40, 10)
    age, mood = x[:, :2].sum(1, keepdim=True), x[:, 2:5].argmax(1)
    out = model(x)
    loss = nn.functional.mse_loss(out["age"], age) + nn.functional.cross_entropy(out["mood"], mood)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.3f}")
