import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def make(n, hard_tail=0):
    x = torch.randn(n, 10)
    y = (x[:, 0] * 2 + x[:, 1] > 0).long()
    if hard_tail:
        y[-hard_tail:] = 1 - y[-hard_tail:]
    return TensorDataset(x, y)


@torch.no_grad()
def validate(model, loader, criterion):
    losses, top1 = AverageMeter(), AverageMeter()
    model.eval()
    for x, y in loader:
        out = model(x)
        losses.update(criterion(out, y).item(), x.size(0))
        acc = (out.argmax(dim=1) == y).float().mean()
        top1.update(acc.item(), x.size(0))
    return losses.avg, top1.avg


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(make(500), batch_size=50, shuffle=True)
    val_loader = DataLoader(make(264, hard_tail=8), batch_size=128)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    best = 0.0
    for epoch in range(10):
        model.train()
        meter = AverageMeter()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            meter.update(loss.item(), len(x))
        vl, va = validate(model, val_loader, criterion)
        best = max(best, va)
        print(f"epoch {epoch} train {meter.avg:.3f} val {vl:.3f} top1 {va:.3f}")
    with torch.no_grad():
        xs, ys = val_loader.dataset.tensors
        true = (model(xs).argmax(1) == ys).float().mean().item()
    print(f"final reported {va:.3f} whole-set {true:.3f}")


main()
