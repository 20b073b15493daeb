# Accumulates gradients over four small batches on purpose, the loss divided accordingly.
import torch
import torch.nn as nn

torch.manual_seed(1)
X = torch.randn(512, 8)
Y = (X[:, :3].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.3)
ce = nn.CrossEntropyLoss()
ACC = 4

for epoch in range(10):
    order = torch.randperm(512)
    opt.zero_grad()
    for i, idx in enumerate(order.split(16)):
        loss = ce(model(X[idx]), Y[idx]) / ACC
        loss.backward()
        if (i + 1) % ACC == 0:
            opt.step()
            opt.zero_grad()
    print(f"epoch {epoch}: loss {loss.item() * ACC:.4f}")
with torch.no_grad():
    print("train accuracy", (model(X).argmax(1) == Y).float().mean().item())
