"""Character RNN trained over consecutive chunks, carrying the hidden state."""
import time
import torch
from torch import nn

torch.manual_seed(4)
text = "the cat sat on the mat and the dog sat on the log. " * 30
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
CHUNK = 16


class CharRNN(nn.Module):
    def __init__(self, n, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(n, 16)
        self.cell = nn.RNNCell(16, hidden)
        self.out = nn.Linear(hidden, n)
        self.hidden = hidden

    def forward(self, x, h):
        outs = []
        for e in self.emb(x):
            h = self.cell(e.unsqueeze(0), h)
            outs.append(self.out(h))
        return torch.cat(outs), h


model = CharRNN(len(chars))
ce = nn.CrossEntropyLoss()
lr = 0.3
h = torch.zeros(1, model.hidden)
t0 = time.time()
for c in range(24):
    x = ids[c * CHUNK:(c + 1) * CHUNK]
    y = ids[c * CHUNK + 1:(c + 1) * CHUNK + 1]
    logits, h = model(x, h)  # BUG graph-kept
    loss = ce(logits, y)
    model.zero_grad()
    loss.backward(retain_graph=True)  # BUG graph-kept
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
    if c % 6 == 5:
        print(f"chunk {c + 1}: loss {loss.item():.3f}  seconds for 6 chunks {time.time() - t0:.3f}")
        t0 = time.time()
