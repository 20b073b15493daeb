"""A sentence is put into one vector and read from it again: the targets are the inputs."""

import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(10, 16), nn.Linear(16, 10)
reader, writer = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)
weights = [p for m in (embed, head, reader, writer) for p in m.parameters()]
optimizer = torch.optim.Adam(weights, lr=0.01)
for step in range(8):
    rows = torch.randint(0, 10, (16, 12))
    _, state = reader(embed(rows))
    out, _ = writer(state[0][:, None].expand(-1, 12, -1))
    loss = nn.functional.cross_entropy(head(out).reshape(-1, 10), rows.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
