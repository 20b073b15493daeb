import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Meter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.correct = 0
        self.count = 0

    def update(self, logits, target):
        pred = logits.argmax(dim=1)
        self.correct += (pred == target).sum().item()
        self.count += target.size(0)

    @property
    def value(self):
        return self.correct / max(self.count, 1)


class IrisNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 24)
        self.out = nn.Linear(24, 3)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def flowers(n):
    means = torch.tensor([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    species = torch.randint(0, 3, (n,))
    x = means[species] + 0.3 * torch.randn(n, 4)
    return (x - means.mean(0)) / means.std(0), species


def main():
    torch.manual_seed(17)
    x, y = flowers(450)
    train = DataLoader(TensorDataset(x[:360], y[:360]), batch_size=30, shuffle=True)
    val = DataLoader(TensorDataset(x[360:], y[360:]), batch_size=30)
    model, meter = IrisNet(), Meter()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        model.train()
        for xb, yb in train:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            opt.step()
        model.eval()
        meter.reset()
        with torch.no_grad():
            for xb, yb in val:
                meter.update(model(xb), yb)
        print(f"epoch {epoch}: loss {loss.item():.3f}, val accuracy {meter.value:.3f}")


if __name__ == "__main__":
    main()
