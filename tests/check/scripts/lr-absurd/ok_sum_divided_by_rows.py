import torch
from torch import nn

torch.manual_seed(0)
W = torch.randn(12, 3)
model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
ce = nn.CrossEntropyLoss()
for step in range(80):
    x = torch.randn(64, 12)
    y = (x @ W).argmax(1)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y, reduction="sum") / len(x)
    loss.backward()
    opt.step()
print(loss.item())
