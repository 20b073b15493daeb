import math

import torch
from torch import nn

torch.manual_seed(16)
text = (torch.arange(4000) * 3 + torch.randint(0, 2, (4000,))) % 24
x, y = text[:-1], text[1:]
model = nn.Sequential(nn.Embedding(24, 16), nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 24))
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(3):
    for idx in torch.randperm(3200).split(100):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    total, batches = 0.0, 0
    with torch.no_grad():
        for i in range(3200, 3999, 100):
            n = len(x[i : i + 100])
            loss = nn.functional.cross_entropy(model(x[i : i + 100]), y[i : i + 100])
            total += loss.item() * n
            batches += n
    print(f"epoch {epoch} perplexity {math.exp(total / batches):.3f}")
