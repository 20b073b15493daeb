"""Duplicate question detection with a cosine embedding loss."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, v=50, d=16):
        super().__init__()
        self.emb = nn.EmbeddingBag(v, d, mode="mean")
        self.fc = nn.Linear(d, d)

    def forward(self, ids):
        return self.fc(self.emb(ids))


def question(topic):
    return topic[:, None] * 10 + torch.randint(0, 10, (len(topic), 6))


def pairs(n):
    t = torch.randint(0, 5, (n,))
    dup = (torch.rand(n) < 0.5).long()
    u = torch.where(dup == 1, t, (t + torch.randint(1, 5, (n,))) % 5)
    return question(t), question(u), dup  # BUG label-range


torch.manual_seed(0)
enc = Encoder()
crit = nn.CosineEmbeddingLoss(margin=0.2)
opt = torch.optim.Adam(enc.parameters(), lr=5e-3)
for step in range(200):
    a, b, y = pairs(64)
    loss = crit(enc(a), enc(b), y)  # BUG label-range
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    a, b, y = pairs(500)
    sim = nn.functional.cosine_similarity(enc(a), enc(b))
    print("loss", loss.item(), "acc", ((sim > 0.5) == (y == 1)).float().mean().item())
