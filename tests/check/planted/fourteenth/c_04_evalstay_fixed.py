import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(11)


def synth(n):
    x = torch.randn(n, 30) * torch.linspace(0.2, 6, 30) + torch.linspace(-8, 8, 30)
    z = (x - torch.linspace(-8, 8, 30)) / torch.linspace(0.2, 6, 30)
    y = ((z[:, :10].sum(1) > 0).long() + 2 * (z[:, 10:20].sum(1) > 0).long())
    flip = torch.rand(n) < 0.15
    y[flip] = torch.randint(0, 4, (int(flip.sum()),))
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.bn0 = nn.BatchNorm1d(30)
        self.l1, self.bn1 = nn.Linear(30, 256), nn.BatchNorm1d(256)
        self.l2, self.bn2 = nn.Linear(256, 256), nn.BatchNorm1d(256)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(256, 4)

    def forward(self, x):
        x = self.bn0(x)
        x = self.drop(F.relu(self.bn1(self.l1(x))))
        x = self.drop(F.relu(self.bn2(self.l2(x))))
        return self.out(x)


def validate(model, loader):
    model.eval()
    loss = hits = count = 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(-1) == y).sum().item()
            count += y.numel()
    return loss / count, hits / count


def train(model, train_dl, val_dl, epochs=12):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        for x, y in train_dl:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        vl, va = validate(model, val_dl)
        print(f"{epoch:2d} train {loss.item():.3f} val {vl:.3f} acc {va:.3f}")
    return vl, va


ds = synth(700)
tr, va = random_split(ds, [400, 300])
vl, acc = train(Net(), DataLoader(tr, 50, shuffle=True), DataLoader(va, 100))
print(f"final val loss {vl:.3f} acc {acc:.3f}")
