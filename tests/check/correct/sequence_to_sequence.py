"""Sequence to sequence with attention and teacher forcing, padding masks, tied output weights, greedy decoding."""

import random

import torch
import torch.nn.functional as F
from torch import nn

PAD, START = 0, 1


class Encoder(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=PAD)
        self.rnn = nn.GRU(width, width, batch_first=True)

    def forward(self, x):
        return self.rnn(self.embedding(x))


class Decoder(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=PAD)
        self.cell = nn.GRUCell(2 * width, width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, words, bias=False)
        self.out.weight = self.embedding.weight

    def forward(self, token, h, memory, mask):
        scores = torch.einsum("bd,btd->bt", h, memory).masked_fill(~mask, float("-inf"))
        context = torch.einsum("bt,btd->bd", scores.softmax(dim=1), memory)
        h = self.cell(torch.cat([self.drop(self.embedding(token)), context], dim=1), h)
        return self.out(h), h


random.seed(0)
torch.manual_seed(0)
encoder, decoder = Encoder(12, 16), Decoder(12, 16)
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=0.01)
source = torch.randint(2, 12, (16, 5))
source[8:, 3:] = PAD
target = source.flip(1)
for step in range(6):
    encoder.train()
    decoder.train()
    memory, h = encoder(source)
    h, token, loss = h[0], torch.full((16,), START), 0.0
    forcing = random.random() < 0.5
    for t in range(5):
        logits, h = decoder(token, h, memory, source != PAD)
        loss = loss + F.cross_entropy(logits, target[:, t], ignore_index=PAD)
        token = target[:, t] if forcing else logits.argmax(dim=1)
    optimizer.zero_grad()
    (loss / 5).backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        memory, h = encoder(source)
        h, token, words = h[0], torch.full((16,), START), []
        for t in range(5):
            logits, h = decoder(token, h, memory, source != PAD)
            token = logits.argmax(dim=1)
            words.append(token)
    print(step, loss.item(), (torch.stack(words, 1) == target).float().mean().item())
