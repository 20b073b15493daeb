import torch
from torch import nn

torch.manual_seed(0)
W = torch.randn(12, 3)
model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
ce = nn.CrossEntropyLoss()
for step in range(320):
    x = torch.randn(16, 12)
    y = (x @ W).argmax(1)
    loss = ce(model(x), y) / 16
    loss.backward()
    if step % 16 == 15:
        opt.step()
        opt.zero_grad()
print(loss.item())
