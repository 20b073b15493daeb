"""Truncated back-propagation through time on a long series."""
import torch
from torch import nn

torch.manual_seed(0)
t = torch.arange(601) * 0.25
series = torch.sin(t)[None, :, None] + 0.05 * torch.randn(4, 601, 1)
rnn, out = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
params = list(rnn.parameters()) + list(out.parameters())
opt = torch.optim.Adam(params, lr=1e-2)
for epoch in range(5):
    h = torch.zeros(1, 4, 16)
    for i in range(0, 600, 20):
        y, h = rnn(series[:, i:i + 20], h.detach())
        loss = (out(y) - series[:, i + 1:i + 21]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print("mse", loss.item())
