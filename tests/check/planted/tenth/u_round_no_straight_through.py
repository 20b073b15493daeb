"""Training with quantised weights."""

import torch
from torch import nn


class QuantLinear(nn.Module):
    def __init__(self, n_in, n_out, levels=16):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) * 0.3)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.levels = levels

    def quantised(self):
        scale = self.weight.detach().abs().max() / (self.levels / 2)
        return torch.round(self.weight / scale) * scale  # BUG gradient-cut

    def forward(self, x):
        return nn.functional.linear(x, self.quantised(), self.bias)


torch.manual_seed(0)
model = nn.Sequential(QuantLinear(4, 32), nn.ReLU(), QuantLinear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(128, 4)
y = (x[:, :1] * x[:, 1:2]).tanh()
for epoch in range(6):
    for xb, yb in zip(x.split(32), y.split(32)):
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 4), "grad", model[0].weight.grad.abs().max().item() > 0)
