import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Linear(5, width)
        self.second = nn.Linear(width, width)
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.tanh(self.first(x))
        h = torch.tanh(self.second(h))
        return self.last(h)


x = torch.randn(200, 5)
y = (x ** 2).sum(1, keepdim=True)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for rows in torch.randperm(200).split(40):
        loss = F.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
