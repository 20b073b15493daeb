import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
def evaluate(model, batches):
    model.eval()
    right, seen = 0, 0
    for x, y in batches:
        with torch.no_grad():
            guess = model(x).argmax(1)
        right = int((guess == y).sum())  # <- finding
        seen += y.numel()
    model.train()
    return right / seen


x = torch.randn(240, 6)
y = (x[:, 0] > 0).long()
held = [(x[k : k + 20], y[k : k + 20]) for k in range(160, 240, 20)]
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for rows in torch.randperm(160).split(32):
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    print(evaluate(model, held))
