"""The hidden state is carried on, cut between the chunks; within a chunk the losses are summed with their graphs."""

import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.LSTMCell(3, 8), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
series = torch.randn(61, 4, 3).cumsum(0) * 0.1
state = (torch.zeros(4, 8), torch.zeros(4, 8))
for start in range(0, 60, 6):
    loss = 0
    for t in range(start, start + 6):
        state = cell(series[t], state)
        loss = loss + nn.functional.mse_loss(head(state[0]), series[t + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = tuple(s.detach() for s in state)
print(loss.item())
