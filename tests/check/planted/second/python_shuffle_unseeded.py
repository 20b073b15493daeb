"""Text classification with bucketed batches."""
import random
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


def set_seed(seed=0):
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)


class Bucketed:
    """batches of sentences of similar length, in random order"""

    def __init__(self, rows, bs):
        rows = sorted(rows, key=lambda r: len(r[0]))
        self.batches = [rows[i:i + bs] for i in range(0, len(rows), bs)]

    def __iter__(self):
        random.shuffle(self.batches)  # BUG nondeterminism
        for b in self.batches:
            yield pad_sequence([x for x, _ in b], batch_first=True), torch.tensor([y for _, y in b])


def rows(n):
    out = []
    for _ in range(n):
        ids = torch.randint(1, 40, (int(torch.randint(4, 15, (1,))),))
        out.append((ids, int((ids < 20).sum() * 2 > len(ids))))
    return out


set_seed()
train = Bucketed(rows(640), 32)
emb = nn.Embedding(40, 12, padding_idx=0)
fc = nn.Linear(12, 2)
opt = torch.optim.Adam([*emb.parameters(), *fc.parameters()], lr=1e-2)
for epoch in range(6):
    for ids, y in train:
        loss = nn.functional.cross_entropy(fc(emb(ids).sum(1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
test = rows(200)
ids, y = pad_sequence([x for x, _ in test], batch_first=True), torch.tensor([y for _, y in test])
with torch.no_grad():
    out = fc(emb(ids).sum(1))
print("test loss", nn.functional.cross_entropy(out, y).item(), "acc", (out.argmax(1) == y).float().mean().item())
