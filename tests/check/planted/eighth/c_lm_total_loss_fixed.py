# A small language model from memory; reports the mean loss of an epoch
import math

import torch
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, vocab=30, d=24, length=12):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(0.02 * torch.randn(length, d))
        block = nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(block, 1)
        self.out = nn.Linear(d, vocab)
        self.register_buffer("mask", torch.triu(torch.full((length, length), -math.inf), 1))

    def forward(self, ids):
        return self.out(self.blocks(self.tok(ids) + self.pos, mask=self.mask))


torch.manual_seed(12)
start = torch.randint(0, 30, (160, 1))
data = (start + torch.arange(13)) % 30
model = TinyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(4):
    total = 0
    for batch in data.split(16):
        optimizer.zero_grad()
        logits = model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, float(total) / 10)
