"""AverageMeter-style training script."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0.0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def validate(model, loader, criterion):
    losses, top1 = AverageMeter(), AverageMeter()
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            losses.update(criterion(out, y).item())  # BUG partial-batch-mean
            top1.update((out.argmax(1) == y).float().mean().item())  # BUG partial-batch-mean
    return losses.avg, top1.avg


torch.manual_seed(0)
x = torch.randn(745, 6)
y = (x[:, 0] + x[:, 1] + 0.5 * torch.randn(745) > 0).long()
train = DataLoader(TensorDataset(x[:600], y[:600]), 50, shuffle=True)
val = DataLoader(TensorDataset(x[600:], y[600:]), 70)
model, criterion = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2)), nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for xb, yb in train:
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
print("val loss %.4f top1 %.4f" % validate(model, val, criterion))
