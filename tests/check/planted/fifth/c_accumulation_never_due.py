# Gradient accumulation.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(47)
X = torch.randn(640, 14)
y = (X[:, 0] - X[:, 1] + 0.5 * X[:, 2] * X[:, 3] > 0).long()
train = DataLoader(TensorDataset(X[:480], y[:480]), batch_size=24, shuffle=True)

ACCUM = 32  # BUG backward-without-step
net = nn.Sequential(nn.Linear(14, 40), nn.ReLU(), nn.Linear(40, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()


def run_epoch():
    opt.zero_grad()
    running = 0.0
    for i, (xb, yb) in enumerate(train):
        loss = loss_fn(net(xb), yb)
        (loss / ACCUM).backward()  # BUG backward-without-step
        if (i + 1) % ACCUM == 0:  # BUG backward-without-step
            opt.step()  # BUG backward-without-step
            opt.zero_grad()
        running += loss.item()
    return running / len(train)


for epoch in range(12):
    mean_loss = run_epoch()
    if epoch % 3 == 2:
        with torch.no_grad():
            acc = (net(X[480:]).argmax(1) == y[480:]).float().mean()
        print(f"epoch {epoch + 1}: loss {mean_loss:.4f} validation {acc:.3f}")
