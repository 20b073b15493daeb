import torch
import torch.nn as nn


def pairwise(a, b):
    return ((a - b) ** 2).sum(dim=1).sqrt()  # BUG nan-born


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        d = pairwise(a, b)  # BUG nan-born
        pull = same * d**2
        push = (1 - same) * torch.relu(self.margin - d) ** 2
        return (pull + push).mean()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))

    def forward(self, x):
        return self.net(x)


def sample_pairs(x, y, n):
    i, j = torch.randint(0, len(x), (2, n))
    match = torch.rand(n) < 0.5
    for k in range(n):
        if match[k]:
            candidates = torch.nonzero(y == y[i[k]]).flatten()
            j[k] = candidates[torch.randint(0, len(candidates), (1,))]
    return x[i], x[j], (y[i] == y[j]).float()


def nearest_accuracy(model, x, y, n_train):
    model.eval()
    with torch.no_grad():
        e = model(x)
        d = torch.cdist(e[n_train:], e[:n_train])
        return (y[:n_train][d.argmin(1)] == y[n_train:]).float().mean().item()


torch.manual_seed(14)
centres = torch.randn(6, 10)
y = torch.randint(0, 6, (360,))
x = centres[y] + 0.6 * torch.randn(360, 10)
model, criterion = Embedder(), ContrastiveLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(120):
    model.train()
    a, b, same = sample_pairs(x[:300], y[:300], 96)
    loss = criterion(model(a), model(b), same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1} loss {loss.item():.4f} 1-nn accuracy {nearest_accuracy(model, x, y, 300):.3f}")
