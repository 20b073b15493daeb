"""A sparse autoencoder; biases start below zero."""

import torch
from torch import nn


class Sparse(nn.Module):
    def __init__(self, inputs=12, codes=32, bias=-6.0):
        super().__init__()
        self.enc = nn.Linear(inputs, codes)
        self.dec = nn.Linear(codes, inputs)
        nn.init.constant_(self.enc.bias, bias)  # <- finding

    def forward(self, x):
        code = torch.relu(self.enc(x))
        return self.dec(code), code


torch.manual_seed(0)
model = Sparse()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
basis = torch.randn(4, 12)
for step in range(30):
    x = torch.randn(48, 4) @ basis * 0.5
    made, code = model(x)
    loss = nn.functional.mse_loss(made, x) + 1e-4 * code.abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), "active", (code > 0).any(0).sum().item())
