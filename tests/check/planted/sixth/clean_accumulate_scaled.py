# gradient accumulation with losses divided by the number of micro batches
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(480, 12)
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).long()
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
ACCUM = 4
opt.zero_grad()
for epoch in range(12):
    total, count = 0.0, 0
    for i, idx in enumerate(torch.randperm(400).split(20)):
        loss = nn.functional.cross_entropy(model(X[idx]), y[idx])
        (loss / ACCUM).backward()
        total += loss.item() * len(idx)
        count += len(idx)
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    with torch.no_grad():
        acc = (model(X[400:]).argmax(1) == y[400:]).float().mean().item()
    print(epoch, round(total / count, 4), "held-out acc", round(acc, 3))
