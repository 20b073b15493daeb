"""Masked language modelling with a masking collate function."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

V, T, MASK = 20, 12, 20


def mask_tokens(ids, p=0.25, seed=7):
    drop = torch.rand(ids.shape, generator=GEN) < p
    labels = torch.where(drop, ids, -100)
    return torch.where(drop, MASK, ids), labels


def collate(rows):
    return mask_tokens(torch.stack(rows))


class MLM(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(V + 1, d)
        self.pos = nn.Parameter(0.1 * torch.randn(T, d))
        self.enc = nn.GRU(d, d, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * d, V)

    def forward(self, ids):
        return self.out(self.enc(self.emb(ids) + self.pos)[0])


GEN = torch.Generator().manual_seed(7)
torch.manual_seed(0)
data = [(torch.randint(0, V, (1,)) + torch.arange(T)) % V for _ in range(640)]
net = MLM()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(5):
    for x, y in DataLoader(data, 32, shuffle=True, collate_fn=collate):
        loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("masked loss", loss.item())
