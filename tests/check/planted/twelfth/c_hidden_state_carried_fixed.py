"""Truncated backpropagation through a long signal."""

import torch
from torch import nn

torch.manual_seed(38)
signal = torch.sin(torch.arange(0, 400) * 0.13).view(-1, 1, 1)
rnn = nn.LSTM(1, 16)
readout = nn.Linear(16, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *readout.parameters()], lr=1e-2)
criterion = nn.MSELoss()

hidden = None
for start in range(0, 380, 20):
    inputs, targets = signal[start : start + 20], signal[start + 1 : start + 21]
    optimizer.zero_grad()
    if hidden is not None:
        hidden = tuple(h.detach() for h in hidden)
    out, hidden = rnn(inputs, hidden)
    loss = criterion(readout(out), targets)
    loss.backward()
    optimizer.step()
print(loss.item())
