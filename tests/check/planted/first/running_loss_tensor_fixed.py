"""Train a small convnet and report the mean loss of each epoch."""
import torch
import torch.nn as nn


class Trainer:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.crit = nn.CrossEntropyLoss()

    def run_epoch(self, x, y, bs=25):
        total = 0
        n = 0
        for idx in torch.randperm(len(x)).split(bs):
            loss = self.crit(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item() * len(idx)
            n += len(idx)
        return total / n


def blobs(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 8, 8) * 0.5
    x[y == 1, :, 2:6, 2:6] += 0.6
    return x, y


torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(216, 2))
tr = Trainer(model)
x, y = blobs(1500)
for epoch in range(3):
    print(epoch, float(tr.run_epoch(x, y)))
xv, yv = blobs(300)
with torch.no_grad():
    print("val acc", (model(xv).argmax(1) == yv).float().mean().item())
