"""Sequence tagging with hand-made label smoothing."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, TAGS, LENGTH = 50, 7, 12


def smooth_targets(tags, classes, eps=0.1):
    soft = F.one_hot(tags, classes).float()
    return soft * (1 - eps) + eps / classes


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.project = nn.Linear(2 * dim, TAGS)

    def forward(self, tokens):
        h, _ = self.lstm(self.embedding(tokens))
        return self.project(h)


def corpus(n):
    tokens = torch.randint(1, VOCAB, (n, LENGTH))
    previous = torch.roll(tokens, 1, dims=1)
    previous[:, 0] = 0
    return tokens, (tokens + (previous % 2)) % TAGS


torch.manual_seed(0)
tokens, tags = corpus(600)
dev_tokens, dev_tags = corpus(100)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for step in range(100):
    rows = torch.randint(len(tokens), (40,))
    logits = model(tokens[rows])
    target = smooth_targets(tags[rows], TAGS)
    loss = F.cross_entropy(logits, target)  # BUG class-dim-misplaced
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 24:
        with torch.no_grad():
            acc = (model(dev_tokens).argmax(-1) == dev_tags).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} dev acc {acc:.3f}")
