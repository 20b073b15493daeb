import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 5)
y = x[:, :1]
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2)
before = model.weight.detach().clone()
for step in range(12):
    rows = torch.randint(0, 128, (32,))
    optimizer.zero_grad()
    F.mse_loss(model(x[rows]), y[rows]).backward()
    optimizer.step()
print("moved by", (model.weight - before).abs().max().item())
