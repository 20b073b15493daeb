"""An encoder and a decoder, but the optimizer only has the decoder's parameters."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 4), nn.Tanh())
decoder = nn.Linear(4, 8)
optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)  # <- finding
for _ in range(5):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(decoder(encoder(x)), x)
    encoder.zero_grad()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
