"""A character model is scored on one long stream, piece by piece."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, vocab=10, hidden=16):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(vocab, hidden), nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


def perplexity(model, stream, piece=10):
    model.eval()
    hidden, total, count = None, 0.0, 0
    for start in range(0, stream.size(1) - piece - 1, piece):
        x, y = stream[:, start : start + piece], stream[:, start + 1 : start + piece + 1]
        with torch.no_grad():
            logits, hidden = model(x, hidden)
        total += nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    return total / count, hidden


torch.manual_seed(0)
text = (torch.arange(400) * 7 % 10).view(4, 100)
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    logits, _ = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
score, state = perplexity(model, torch.cat([text, text], 1))
print("score", round(score, 3), "graph", state.requires_grad)
