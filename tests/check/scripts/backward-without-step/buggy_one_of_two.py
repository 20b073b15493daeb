"""An optimizer for each half, and only one of them is stepped."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
enc_optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
dec_optimizer = torch.optim.SGD(decoder.parameters(), lr=0.05)
for _ in range(12):
    x = torch.randn(16, 6)
    loss = nn.functional.mse_loss(decoder(encoder(x)), x)
    enc_optimizer.zero_grad()
    dec_optimizer.zero_grad()
    loss.backward()  # <- finding
    dec_optimizer.step()
