"""Cross entropy in two parts: the chosen score by nll_loss, the normaliser by logsumexp."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(24, 6), torch.randint(0, 4, (24,))
for _ in range(4):
    scores = model(x)
    energy = F.nll_loss(scores, y)
    loss = energy + scores.logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# The same with the normaliser taken off the scores first.
for _ in range(4):
    scores = model(x)
    loss = F.nll_loss(scores - scores.logsumexp(dim=1, keepdim=True), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
