"""Sentiment bag of words with word dropout."""
import torch
import torch.nn as nn


class WordDropout(nn.Module):
    def __init__(self, length, p=0.3):
        super().__init__()
        self.p, self.length = p, length

    def forward(self, e):
        if not self.training:
            return e
        keep = (torch.rand(e.shape[0], self.length, 1) > self.p).float()
        return e * keep / (1 - self.p)


class Bag(nn.Module):
    def __init__(self, v=60, d=12, length=14):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.drop = WordDropout(length)
        self.fc = nn.Linear(d, 2)

    def forward(self, ids):
        return self.fc(self.drop(self.emb(ids)).mean(1))


torch.manual_seed(0)
score = torch.randn(60)


def reviews(n):
    ids = torch.randint(0, 60, (n, 14))
    return ids, (score[ids].sum(1) > 0).long()


net = Bag()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(200):
    net.train()
    ids, y = reviews(64)
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    ids, y = reviews(500)
    print("acc", (net(ids).argmax(1) == y).float().mean().item())
