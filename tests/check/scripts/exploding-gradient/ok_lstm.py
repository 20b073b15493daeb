"""An LSTM language model over sixty steps, and the same with truncated sequences."""

import torch
from torch import nn

torch.manual_seed(0)
embedding, lstm, head = nn.Embedding(12, 8), nn.LSTM(8, 16, num_layers=2, batch_first=True), nn.Linear(16, 12)
parameters = [*embedding.parameters(), *lstm.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)
text = torch.randint(0, 12, (4, 61))
state = None
for start in range(0, 60, 20):
    out, state = lstm(embedding(text[:, start : start + 20]), state)
    state = tuple(s.detach() for s in state)
    loss = nn.functional.cross_entropy(head(out).flatten(0, 1), text[:, start + 1 : start + 21].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for _ in range(2):
    out, _ = lstm(embedding(text[:, :-1]))
    loss = nn.functional.cross_entropy(head(out[:, -1]), text[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
