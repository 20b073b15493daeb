"""A small transformer for the order of tokens."""
import torch
from torch import nn
from torch.nn import functional as F

TOKENS, LENGTH = 10, 6


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.token = nn.Embedding(TOKENS, width)
        self.position = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(width, 2)

    def forward(self, ids):
        positions = torch.zeros_like(ids)  # <- finding
        h = self.token(ids) + self.position(positions)
        return self.out(self.encoder(h).mean(1))


def sequences(n):
    ids = torch.randint(2, TOKENS, (n, LENGTH))
    y = torch.randint(0, 2, (n,))
    for k in range(n):
        i, j = sorted(torch.randperm(LENGTH)[:2].tolist())
        ids[k, i], ids[k, j] = (0, 1) if y[k] else (1, 0)
    return ids, y


def main():
    torch.manual_seed(57)
    ids, y = sequences(256)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        total = 0.0
        for rows in torch.randperm(len(ids)).split(32):
            loss = F.cross_entropy(model(ids[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch} loss {total / len(ids):.4f}")


main()
