"""Accumulating gradients over 8 batches in a Trainer."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, lr=5e-3, accumulate=8):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.accumulate = accumulate
        self.updates = 0

    def should_step(self, i, n):
        return (i + 1) % self.accumulate == 0 or i + 1 == n

    def group_size(self, i, n):
        first = i - i % self.accumulate
        return min(self.accumulate, n - first)

    def epoch(self, loader):
        self.model.train()
        self.opt.zero_grad()
        total, n = 0.0, len(loader)
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(self.model(x), y)
            (loss / self.group_size(i, n)).backward()
            total += loss.item()
            if self.should_step(i, n):
                self.opt.step()
                self.opt.zero_grad()
                self.updates += 1
        return total / n


torch.manual_seed(0)
x = torch.randn(376, 10)
y = (x[:, 0] - x[:, 1] > 0).long() + (x[:, 2] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True, drop_last=True)
trainer = Trainer(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3)))
for epoch in range(12):
    loss = trainer.epoch(loader)
    if epoch % 3 == 2:
        print(epoch, loss, trainer.updates)
