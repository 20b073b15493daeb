"""Accumulates micro-batches; gradients are clipped."""
import torch
from torch import nn
from torch.nn import functional as F

MICRO, ACCUMULATE = 8, 4


class Reader(nn.Module):
    def __init__(self, tokens=24, width=24):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[0][:, -1])


def sequences(n):
    ids = torch.randint(0, 24, (n, 8))
    return ids, (ids[:, :4].sum(1) > ids[:, 4:].sum(1)).long()


def train_epoch(model, optimizer, ids, y):
    order = torch.randperm(len(ids))
    total = 0.0
    for k, rows in enumerate(order.split(MICRO), 1):
        loss = F.cross_entropy(model(ids[rows]), y[rows])
        (loss / ACCUMULATE).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.05)  # <- finding
        if k % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item() * len(rows)
    return total / len(ids)


def main():
    torch.manual_seed(54)
    ids, y = sequences(256)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(4):
        print(f"epoch {epoch} loss {train_epoch(model, optimizer, ids, y):.4f}")


main()
