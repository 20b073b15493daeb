import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


class Encoder(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.tanh(self.proj(self.emb(tokens).mean(1)))


class Wrapped(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.head = nn.Linear(24, 50)

    def forward(self, tokens):
        return self.head(self.module(tokens))


def batch(n=64):
    t = torch.randint(0, 50, (n, 8))
    return t, t.float().mean(1).gt(24.5).long()


pre = Wrapped(Encoder())
opt = torch.optim.Adam(pre.parameters(), lr=1e-2)
for _ in range(60):
    t, _ = batch()
    loss = F.cross_entropy(pre(t), t[:, 0])
    opt.zero_grad()
    loss.backward()
    opt.step()
path = os.path.join(tempfile.mkdtemp(), "encoder.pt")
torch.save(pre.state_dict(), path)

encoder = Encoder()
state = torch.load(path)
encoder.load_state_dict(state, strict=False)  # BUG keys-ignored
for p in encoder.parameters():
    p.requires_grad_(False)
clf = nn.Linear(24, 2)
opt = torch.optim.Adam(clf.parameters(), lr=1e-2)
for step in range(60):
    t, y = batch()
    loss = F.cross_entropy(clf(encoder(t)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("fine-tuned loss", loss.item())
