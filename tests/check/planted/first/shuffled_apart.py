"""Wine-quality style classifier, in-memory shuffling each epoch."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)


def load():
    x = rng.normal(size=(900, 9)).astype(np.float32)
    y = (x[:, 0] + x[:, 3] - x[:, 5] > 0).astype(np.int64)
    return x, y


def epoch_batches(x, y, bs):
    rng.shuffle(x)  # BUG loss-at-chance
    rng.shuffle(y)  # BUG loss-at-chance
    for i in range(0, len(x) - bs + 1, bs):
        yield torch.from_numpy(x[i:i + bs]), torch.from_numpy(y[i:i + bs])


x, y = load()
xtr, ytr, xte, yte = x[:700], y[:700], x[700:], y[700:]
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    for xb, yb in epoch_batches(xtr, ytr, 50):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
with torch.no_grad():
    acc = (model(torch.from_numpy(xte)).argmax(1) == torch.from_numpy(yte)).float().mean()
print("test acc", acc.item())
