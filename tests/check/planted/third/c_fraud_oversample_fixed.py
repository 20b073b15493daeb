import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def transactions(n):
    x = torch.randn(n, 12)
    risk = 1.2 * x[:, 0] + x[:, 1] * x[:, 2] - 2.6
    return x, (risk + 0.7 * torch.randn(n) > 0).long()


def oversample(x, y):
    """Repeat rows of the minority class until both classes are equally frequent."""
    minority = torch.nonzero(y == 1).squeeze(1)
    extra = len(y) - 2 * len(minority)
    picked = minority[torch.randint(0, len(minority), (extra,))]
    return torch.cat([x, x[picked]]), torch.cat([y, y[picked]])


x, y = transactions(900)
perm = torch.randperm(len(x))
cut = int(0.8 * len(x))
x_train, y_train = x[perm[:cut]], y[perm[:cut]]
x_val, y_val = x[perm[cut:]], y[perm[cut:]]
x_train, y_train = oversample(x_train, y_train)

loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    for xb, yb in loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        guess = model(x_val).argmax(1)
    recall = (guess[y_val == 1] == 1).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} val recall of fraud {recall:.3f}")
