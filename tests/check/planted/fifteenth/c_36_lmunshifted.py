"""A small causal transformer language model."""
import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, vocab=32, d=32, length=16):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(length, d)
        layer = nn.TransformerEncoderLayer(d, 2, 64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(d, vocab)

    def forward(self, ids):
        n = ids.size(1)
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        h = self.tok(ids) + self.pos(torch.arange(n))
        return self.out(self.body(h, mask=mask))


class Corpus:
    """Sequences in which each token depends on the one before it."""

    def __init__(self, vocab=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.next = torch.randint(0, vocab, (vocab, 3), generator=g)
        self.vocab = vocab

    def batch(self, size, length):
        ids = torch.randint(0, self.vocab, (size, 1))
        for _ in range(length):
            choice = torch.randint(0, 3, (size,))
            ids = torch.cat([ids, self.next[ids[:, -1], choice].unsqueeze(1)], dim=1)
        return ids


def split(ids):
    return ids[:, :-1], ids[:, :-1]  # BUG target-not-shifted|target-visible


torch.manual_seed(0)
corpus, model = Corpus(), LM()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(80):
    inputs, targets = split(corpus.batch(32, 16))
    logits = model(inputs)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())  # BUG target-not-shifted|target-visible
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(step, loss.item())
