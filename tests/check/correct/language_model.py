"""A small causal transformer with tied weights, a mask, a sampler, evaluation in eval mode, and truncated backward through time beside it."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-1))
        return self.out((weights @ v).transpose(1, 2).reshape(B, T, C))


class Model(nn.Module):
    def __init__(self, vocabulary, width=32, length=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, 4, length)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens, targets=None):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.size(1)))
        x = x + self.attention(self.norm(x))
        logits = self.head(x)
        return logits, None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


torch.manual_seed(0)
text = torch.tensor([ord(c) % 27 for c in "the quick brown fox jumps over the lazy dog " * 20])
model = Model(27)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


def batch():
    starts = torch.randint(0, len(text) - 17, (8,))
    return torch.stack([text[i : i + 16] for i in starts]), torch.stack([text[i + 1 : i + 17] for i in starts])


for step in range(12):
    model.train()
    _, loss = model(*batch())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        model.eval()
        with torch.no_grad():
            losses = torch.zeros(2)
            for k in range(2):
                _, value = model(*batch())
                losses[k] = value.item()
        print(step, loss.item(), losses.mean().item())
model.eval()
tokens = text[:4].unsqueeze(0)
with torch.no_grad():
    for _ in range(8):
        logits, _ = model(tokens[:, -16:])
        probabilities = F.softmax(logits[:, -1] / 0.8, dim=-1)
        tokens = torch.cat([tokens, torch.multinomial(probabilities, 1)], dim=1)
print(tokens.tolist())

lstm, head = nn.LSTM(27, 16, batch_first=True), nn.Linear(16, 27)
optimizer = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=0.5)
state = None
for start in range(0, 120, 15):
    x, y = F.one_hot(text[start : start + 15], 27).float().unsqueeze(0), text[start + 1 : start + 16]
    out, state = lstm(x, state)
    state = tuple(s.detach() for s in state)
    loss = F.cross_entropy(head(out).squeeze(0), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(lstm.parameters(), 0.25)
    optimizer.step()
print(loss.item())
