import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedAttentionPool(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.p = p

    def forward(self, h):
        a = self.score(torch.tanh(h)).squeeze(-1)
        a = F.softmax(a, dim=1)
        a = F.dropout(a, self.p)  # BUG functional-dropout-always-on
        return (a.unsqueeze(-1) * h).sum(1)


class BagClassifier(nn.Module):
    def __init__(self, d=10, h=32, p=0.5):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.pool = GatedAttentionPool(h, p)
        self.out = nn.Linear(h, 2)

    def forward(self, x):
        return self.out(self.pool(self.enc(x)))


def bags(n, seed, size=6):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, size, 10, generator=g)
    y = torch.randint(0, 2, (n,), generator=g)
    rows = torch.randint(0, size, (n,), generator=g)
    x[torch.arange(n), rows, 0] += 3.0 * y
    x[torch.arange(n), rows, 1] += 2.0 * y
    return x, y


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def train():
    torch.manual_seed(3)
    x, y = bags(600, 1)
    xv, yv = bags(600, 2)
    model = BagClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for ep in range(20):
        model.train()
        for idx in torch.randperm(len(x)).split(40):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if ep % 5 == 0:
            print(ep, f"loss {loss.item():.3f} val {accuracy(model, xv, yv):.3f}")
    accs = [accuracy(model, xv, yv) for _ in range(3)]
    print("final val acc", [round(a, 3) for a in accs])


train()
