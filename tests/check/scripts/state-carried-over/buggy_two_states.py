"""Both states of an LSTM go around the loop."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
tokens = torch.randint(0, 9, (80, 6))
loader = DataLoader(
    TensorDataset(tokens, (tokens == 3).any(1).long()), batch_size=10, shuffle=True
)
embed, lstm, head = nn.Embedding(9, 6), nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 2)
parts = nn.ModuleList([embed, lstm, head])
optimizer = torch.optim.Adam(parts.parameters(), lr=1e-2)
states = (torch.zeros(1, 10, 8), torch.zeros(1, 10, 8))
for rows, labels in loader:
    out, states = lstm(embed(rows), states)  # <- finding
    states = tuple(s.detach() for s in states)
    loss = nn.functional.cross_entropy(head(out[:, -1]), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
