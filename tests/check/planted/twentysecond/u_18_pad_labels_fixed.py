import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)

from torch.nn.utils.rnn import pad_sequence

g = torch.Generator().manual_seed(0)
seqs = [
    torch.randint(1, 20, (int(torch.randint(4, 12, (1,), generator=g)),), generator=g)
    for _ in range(128)
]
tags = [(s % 5) for s in seqs]


def collate(rows):
    x = pad_sequence([r[0] for r in rows], batch_first=True)
    y = pad_sequence([r[1] for r in rows], batch_first=True, padding_value=-100)
    return x, y


loader = DataLoader(list(zip(seqs, tags)), batch_size=16, shuffle=True, collate_fn=collate)
emb, rnn, out = (
    nn.Embedding(20, 16, padding_idx=0),
    nn.GRU(16, 24, batch_first=True),
    nn.Linear(24, 5),
)
opt = torch.optim.Adam([*emb.parameters(), *rnn.parameters(), *out.parameters()], lr=1e-2)
for epoch in range(2):
    for x, y in loader:
        logits = out(rnn(emb(x))[0])
        loss = F.cross_entropy(logits.transpose(1, 2), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
