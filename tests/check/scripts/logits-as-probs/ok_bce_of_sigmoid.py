"""BCELoss on probabilities, KL of log-probabilities, thresholds on both sides of the sigmoid."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
head = nn.Linear(3, 4)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(20, 3)
y = (x[:, :1] > 0).float()
goal = torch.full((20, 4), 0.25)
for _ in range(5):
    optimizer.zero_grad()
    logits = model(x)
    loss = F.binary_cross_entropy(torch.sigmoid(logits), y) + F.binary_cross_entropy_with_logits(logits, y)
    loss = loss + F.kl_div(F.log_softmax(head(x), dim=1), goal, reduction="batchmean")
    loss.backward()
    optimizer.step()
    hits = ((logits > 0) == (logits.sigmoid() > 0.5)).sum().item()
print(loss.item(), hits)
