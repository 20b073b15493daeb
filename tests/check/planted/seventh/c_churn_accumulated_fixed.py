# Predict customer churn from usage statistics
import torch
from torch import nn

torch.manual_seed(3)
n = 1200
usage = torch.randn(n, 12)
coef = torch.randn(12)
churned = ((usage @ coef + 0.3 * torch.randn(n)) > 0).long()
train_x, test_x = usage[:900], usage[900:]
train_y, test_y = churned[:900], churned[900:]

model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)

for epoch in range(15):
    model.train()
    total = 0.0
    for idx in torch.randperm(900).split(60):
        out = model(train_x[idx])
        loss = criterion(out, train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch:2d} train loss {total / 900:.4f}")

model.eval()
with torch.no_grad():
    acc = (model(test_x).argmax(1) == test_y).float().mean().item()
print(f"test accuracy {acc:.3f}")
