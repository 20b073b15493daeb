import random

import torch
import torch.nn as nn

torch.manual_seed(123)
random.seed(123)


def motif_dataset(n, length=10):
    """DNA strings; positive ones contain the motif GAT."""
    rows = []
    bases = torch.randint(0, 4, (n, length)).tolist()
    for i, row in enumerate(bases):
        if i % 2:
            at = i % (length - 2)
            row[at:at + 3] = [2, 0, 3]
        text = "".join("ACGT"[b] for b in row)
        rows.append((row, int("GAT" in text)))
    return rows


rows = motif_dataset(800)
random.shuffle(rows)
train, test = rows[:640], rows[640:]


def collate(part):
    ids = torch.tensor([r for r, _ in part])
    return nn.functional.one_hot(ids, 4).float().transpose(1, 2), torch.tensor([t for _, t in part])


model = nn.Sequential(
    nn.Conv1d(4, 12, 3), nn.Softplus(), nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(12, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    for i in range(0, len(train), 40):
        x, y = collate(train[i:i + 40])
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.5f}")

x, y = collate(test)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
