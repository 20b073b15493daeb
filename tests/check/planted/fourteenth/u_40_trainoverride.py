import torch
import torch.nn as nn
import torch.nn.functional as F


class Stem(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.fc = nn.Linear(d, h)
        self.bn = nn.BatchNorm1d(h)

    def forward(self, x):
        return F.relu(self.bn(self.fc(x)))


class FrozenBNClassifier(nn.Module):
    """Stem is pretrained; its batch-norm statistics must stay as they are."""

    def __init__(self, stem, h, n_cls, p=0.6):
        super().__init__()
        self.stem = stem
        self.mid = nn.Linear(h, 64)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(64, n_cls)

    def train(self, mode=True):
        super().train()  # BUG eval-in-train-mode
        for m in self.stem.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.eval()
        return self

    def forward(self, x):
        return self.out(self.drop(F.relu(self.mid(self.stem(x)))))


def sample(n, W, gen):
    x = torch.randn(n, 20, generator=gen) * 2 + 1
    return x, (x @ W).argmax(1)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    W = torch.randn(20, 5, generator=gen)
    stem = Stem(20, 48)
    warm = nn.Sequential(stem, nn.Linear(48, 5))
    opt = torch.optim.Adam(warm.parameters(), lr=5e-3)
    x, y = sample(400, W, gen)
    for _ in range(40):
        loss = F.cross_entropy(warm(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

    model = FrozenBNClassifier(stem, 48, 5)
    stem.requires_grad_(False)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    xv, yv = sample(500, W, gen)
    for ep in range(25):
        model.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    vl, va = evaluate(model, xv, yv)
    again, _ = evaluate(model, xv, yv)
    print(f"train loss {loss.item():.3f}")
    print(f"final val loss {vl:.3f} acc {va:.3f} repeat {again:.3f}")


main()
