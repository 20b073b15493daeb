"""Sentiment of padded token sequences, mean of embeddings."""
import torch
from torch import nn
from torch.nn import functional as F

PAD, UNK = 0, 1


class BagOfWords(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids, lengths):
        return self.out(self.embed(ids).sum(1) / lengths[:, None])


def make(n):
    lengths = torch.randint(4, 13, (n,))
    ids = torch.randint(1, 50, (n, 12))
    ids[torch.arange(12)[None] >= lengths[:, None]] = PAD
    labels = ((ids > 25).sum(1) * 2 > lengths).long()
    return ids, lengths, labels


torch.manual_seed(3)
ids, lengths, labels = make(600)
model = BagOfWords(50)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for i in torch.randperm(600).split(60):
        loss = F.cross_entropy(model(ids[i], lengths[i]), labels[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
