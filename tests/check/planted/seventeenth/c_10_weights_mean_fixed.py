import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
n = 2000
x = torch.randn(n, 6)
rare = torch.rand(n) < 0.04
y = torch.where(rare, 1, 0)
x[rare] += 1.0
weight = torch.where(y == 1, 20.0, 1.0)

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    perm = torch.randperm(n)
    for start in range(0, n, 100):
        idx = perm[start:start + 100]
        logits = model(x[idx])
        loss = F.cross_entropy(logits, y[idx], reduction="none")
        loss = (loss * weight[idx]).sum() / weight[idx].sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(1)
    recall = (pred[y == 1] == 1).float().mean().item()
    print("epoch", epoch, "loss", loss.item(), "recall", recall)
