"""The noise of an autoencoder is a buffer, of which each batch takes as many rows as it has."""

import torch
from torch import nn

torch.manual_seed(0)


class Noisy(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.enc = nn.Linear(6, 2 * width)
        self.dec = nn.Linear(width, 6)
        self.register_buffer("eps", torch.randn(rows, width))

    def forward(self, x):
        mean, log_var = self.enc(x).chunk(2, dim=1)
        z = mean + (0.5 * log_var).exp() * self.eps[: len(x)]  # <- finding
        return self.dec(z), mean, log_var


data = torch.randn(120, 6)
net = Noisy(24, 4)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(2):
    for rows in torch.randperm(120).split(24):
        out, mean, log_var = net(data[rows])
        kl = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(1).mean()
        loss = (out - data[rows]).pow(2).sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
