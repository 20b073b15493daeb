"""A convolution's only channel meets a signal that has no channel axis."""

import torch
from torch import nn

torch.manual_seed(0)
signal = torch.randn(6, 32)
smooth = nn.functional.avg_pool1d(signal, 5, stride=1, padding=2)
net = nn.Sequential(nn.Conv1d(1, 4, 5, padding=2), nn.Tanh(), nn.Conv1d(4, 1, 5, padding=2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(5):
    residual = net(signal.unsqueeze(1)) - smooth  # <- finding
    loss = residual.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
