"""The features of an embedding are axis 2, and are moved to axis 1 for the norm."""

import torch
from torch import nn

torch.manual_seed(5)
embed, norm = nn.Embedding(40, 16), nn.BatchNorm1d(16)
rnn, head = nn.GRU(16, 16, batch_first=True), nn.Linear(16, 2)
tokens = torch.randint(0, 40, (240, 12))
labels = (tokens.lt(8).sum(1) > 2).long()
parameters = [p for m in (embed, norm, rnn, head) for p in m.parameters()]
optimizer = torch.optim.Adam(parameters, lr=4e-3)
for epoch in range(4):
    for rows in torch.randperm(240).split(40):
        h = norm(embed(tokens[rows]).transpose(1, 2)).transpose(1, 2)
        loss = nn.functional.cross_entropy(head(rnn(h)[0][:, -1]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
