"""The log-likelihood itself is given to the optimizer, which makes it small."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 2)
y = x.sum(1) + 0.1 * torch.randn(64)
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(6):
    mean, log_scale = model(x).unbind(1)
    log_prob = torch.distributions.Normal(mean, log_scale.exp()).log_prob(y)
    loss = log_prob.mean()  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
