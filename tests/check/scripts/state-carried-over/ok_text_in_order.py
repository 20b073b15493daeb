"""Truncated backpropagation through a long text, whose parts come in order."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
text = torch.randint(0, 9, (4, 81)).roll(1, 0)
parts = [text[:, k : k + 9] for k in range(0, 80, 8)]
loader = DataLoader(TensorDataset(torch.cat(parts)), batch_size=4)
embed, rnn, head = nn.Embedding(9, 6), nn.GRU(6, 8, batch_first=True), nn.Linear(8, 9)
optimizer = torch.optim.Adam(nn.ModuleList([embed, rnn, head]).parameters(), lr=1e-2)
state = None
for (rows,) in loader:
    out, state = rnn(embed(rows[:, :-1]), state)
    state = state.detach()
    loss = nn.functional.cross_entropy(head(out).reshape(-1, 9), rows[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
