"""Classifies sequences of unequal length with masked mean pooling."""
import torch
from torch import nn
from torch.nn import functional as F


def collate(rows, length):
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    mask = torch.zeros(1, length).expand(len(rows), length)  # <- finding
    for k, row in enumerate(rows):
        ids[k, : len(row)] = row
        mask[k, : len(row)] = 1.0
    return ids, mask


class Bag(nn.Module):
    def __init__(self, tokens, width=16, classes=2):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.fc = nn.Linear(width, classes)

    def forward(self, ids, mask):
        h = self.embed(ids) * mask.unsqueeze(-1)
        return self.fc(h.sum(1) / mask.sum(1, keepdim=True).clamp(min=1))


def reviews(n):
    rows, labels = [], torch.randint(0, 2, (n,))
    for label in labels.tolist():
        length = int(torch.randint(3, 15, (1,)))
        row = torch.randint(1, 30, (length,))
        row[: length // 2] = torch.randint(1 + 15 * label, 16 + 14 * label, (length // 2,))
        rows.append(row)
    return rows, labels


def main():
    torch.manual_seed(42)
    rows, labels = reviews(240)
    model = Bag(30)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(4):
        total = 0.0
        for pick in torch.randperm(len(rows)).split(24):
            ids, mask = collate([rows[i] for i in pick], 15)
            loss = F.cross_entropy(model(ids, mask), labels[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(pick)
        print(f"epoch {epoch} loss {total / len(rows):.3f}")


main()
