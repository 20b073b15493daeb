"""`pos_weight` is positives over negatives."""

import torch
from torch import nn

torch.manual_seed(0)
y = (torch.rand(200) < 0.1).float()
x = torch.randn(200, 4) + y[:, None]
ratio = y.sum() / (1 - y).sum()  # <- finding
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows in torch.randperm(200).split(50):
    optimizer.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(
        model(x[rows]).squeeze(1), y[rows], pos_weight=ratio
    )
    loss.backward()
    optimizer.step()
print(loss.item())
