# All pairs of scores of a list, by broadcasting on purpose
import torch
from torch import nn

torch.manual_seed(112)
docs = torch.randn(60, 12, 6)
relevance = (docs[..., 0] + 0.3 * torch.randn(60, 12) > 0.5).float()
scorer = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(scorer.parameters(), lr=3e-3)
for epoch in range(4):
    for rows in torch.randperm(60).split(15):
        s = scorer(docs[rows]).squeeze(-1)
        r = relevance[rows]
        margin = s[:, :, None] - s[:, None, :]
        better = (r[:, :, None] > r[:, None, :]).float()
        loss = (nn.functional.softplus(-margin) * better).sum() / better.sum().clamp(min=1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
