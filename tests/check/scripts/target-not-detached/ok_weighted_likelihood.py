"""Log-probabilities under learned weights: both are meant to be trained."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(2, 9)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(64, 2), torch.randn(64, 1)
for step in range(6):
    weights, means, scales = model(x).chunk(3, 1)
    parts = torch.distributions.Normal(means, scales.exp()).log_prob(y)
    loss = -(weights.softmax(1) * parts).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
