import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(10)


class Trainer:
    def __init__(self, model, accumulate=16, lr=0.01):
        self.model, self.accumulate = model, accumulate
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, loader):
        self.opt.zero_grad()
        total = 0.0
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(self.model(x), y)
            (loss / self.accumulate).backward()
            total += loss.item()
            if (i + 1) % self.accumulate == 0 or i + 1 == len(loader):
                self.opt.step()
                self.opt.zero_grad()
        return total / len(loader)


x = torch.randn(480, 8)
y = (x[:, :3].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
trainer = Trainer(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)))
for ep in range(12):
    l = trainer.epoch(loader)
    if ep % 4 == 3:
        with torch.no_grad():
            acc = (trainer.model(x[400:]).argmax(1) == y[400:]).float().mean().item()
        print(f"epoch {ep + 1} loss {l:.4f} acc {acc:.3f}")
