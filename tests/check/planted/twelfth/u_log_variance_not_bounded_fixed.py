"""Regression with a predicted variance: inputs were not scaled."""

import torch
from torch import nn

torch.manual_seed(55)


class Gaussian(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU())
        self.mean = nn.Linear(32, 1)
        self.log_var = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_var(h).clamp(-6, 6)


income = torch.rand(120, 1) * 900 + 100
size = torch.rand(120, 2) * 400
x = torch.cat([income, size], 1) / 500
y = income / 1000 + size.mean(1, keepdim=True) / 500
model = Gaussian()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    mean, log_var = model(x)
    loss = 0.5 * ((y - mean) ** 2 / log_var.exp() + log_var).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
