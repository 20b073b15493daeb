"""Sequences are sorted by length for packing, the labels beside them are not."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

torch.manual_seed(0)
label = torch.randint(0, 2, (120,))
length = torch.randint(3, 9, (120,)).tolist()
sequences = [torch.randn(n, 3) + (2 * k - 1) for n, k in zip(length, label.tolist(), strict=True)]
rnn, out = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=0.01)
for epoch in range(10):
    for rows in torch.randperm(120).split(20):
        batch = [sequences[i] for i in rows.tolist()]
        batch.sort(key=len, reverse=True)  # <- finding
        lengths = torch.tensor([len(s) for s in batch])
        _, h = rnn(pack_padded_sequence(pad_sequence(batch, batch_first=True), lengths, batch_first=True))
        loss = nn.functional.cross_entropy(out(h[-1]), label[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
