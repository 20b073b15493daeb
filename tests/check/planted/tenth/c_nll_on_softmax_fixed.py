"""Part-of-speech tags with a GRU."""

import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self, words=30, tags=4, hidden=16):
        super().__init__()
        self.emb = nn.Embedding(words, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, tags)

    def forward(self, w):
        h, _ = self.rnn(self.emb(w))
        return F.log_softmax(self.out(h), dim=2)


torch.manual_seed(0)
tagger = Tagger()
opt = torch.optim.Adam(tagger.parameters(), lr=1e-2)
for step in range(20):
    words = torch.randint(0, 30, (16, 7))
    tags = words % 4
    scores = tagger(words)
    loss = F.nll_loss(scores.reshape(-1, 4), tags.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
    opt.step()
print("loss", round(loss.item(), 3))
