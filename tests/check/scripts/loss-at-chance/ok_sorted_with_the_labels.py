"""Sequences are sorted by length with their labels; a norm over one number that nothing is trained through; some weights of classes are zero."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

torch.manual_seed(0)
label = torch.randint(0, 2, (120,))
length = torch.randint(3, 9, (120,)).tolist()
pairs = [(torch.randn(n, 3) + (2 * k - 1), k) for n, k in zip(length, label.tolist(), strict=True)]
with torch.no_grad():
    print(nn.LayerNorm(1)(torch.randn(4, 1)).flatten())
rnn, out = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=0.01)
for epoch in range(10):
    for rows in torch.randperm(120).split(20):
        batch = sorted((pairs[i] for i in rows.tolist()), key=lambda pair: len(pair[0]), reverse=True)
        sequences = [s for s, _ in batch]
        lengths = torch.tensor([len(s) for s in sequences])
        _, h = rnn(pack_padded_sequence(pad_sequence(sequences, batch_first=True), lengths, batch_first=True))
        weight = torch.tensor([1.0, 1.0, 0.0])
        loss = nn.functional.cross_entropy(out(h[-1]), torch.tensor([k for _, k in batch]), weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(loss.item())
