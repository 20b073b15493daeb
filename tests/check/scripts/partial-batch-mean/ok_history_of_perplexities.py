"""The perplexity of each epoch is kept for a curve, and that of folds is averaged."""
import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)
text = (torch.arange(1200) * 3 + torch.randint(0, 2, (1200,))) % 20
history, per_fold, inner_steps = [], 0.0, 1
for fold in range(2):
    model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        total = 0.0
        for idx in torch.randperm(1199).split(100):
            opt.zero_grad()
            for _ in range(inner_steps):
                loss = F.cross_entropy(model(text[idx]), text[idx + 1])
                (loss / inner_steps).backward()
            opt.step()
            total += loss.item() * len(idx)
        history.append(math.exp(total / 1199))
        val_loss = total / 1199
    per_fold += math.exp(val_loss)
print([round(p, 2) for p in history], round(per_fold / 2, 2))
