"""Gradient accumulation whose last micro-batches are never applied."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Args:
    accumulate: int = 4
    micro_batch: int = 16
    epochs: int = 3
    lr: float = 0.02


class Tagger(nn.Module):
    def __init__(self, vocab=30, tags=5, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, 24, 3, padding=1)
        self.out = nn.Linear(24, tags)

    def forward(self, words):
        h = self.conv(self.embed(words).transpose(1, 2)).relu()
        return self.out(h.transpose(1, 2))


def corpus(n=160, length=8, vocab=30, tags=5):
    words = torch.randint(vocab, (n, length))
    return TensorDataset(words, (words + words.roll(1, dims=1)) % tags)


def train(args):
    model = Tagger()
    loader = DataLoader(corpus(), batch_size=args.micro_batch, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        optimizer.zero_grad()  # BUG backward-without-step
        for i, (words, tags) in enumerate(loader):
            logits = model(words)
            loss = criterion(logits.flatten(0, 1), tags.flatten())
            (loss / args.accumulate).backward()  # BUG backward-without-step
            if (i + 1) % args.accumulate == 0:  # BUG backward-without-step
                optimizer.step()  # BUG backward-without-step
                optimizer.zero_grad()
        print(epoch, loss.item())


torch.manual_seed(0)
train(Args())
