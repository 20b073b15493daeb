"""Two optimizers that want the opposite, and maximize=True with what should be large."""

import torch
from torch import nn

torch.manual_seed(0)
x, y, z = torch.randn(64, 4), torch.randint(0, 3, (64,)), torch.randint(0, 2, (64,))
body, head, other = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.01)
adversary = torch.optim.SGD(other.parameters(), lr=0.01)
for step in range(6):
    hidden = torch.tanh(body(x))
    loss = nn.functional.cross_entropy(other(hidden.detach()), z)
    adversary.zero_grad()
    loss.backward()
    adversary.step()
    loss = nn.functional.cross_entropy(head(hidden), y)
    loss = loss - 0.1 * nn.functional.cross_entropy(other(hidden), z)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
mean = nn.Parameter(torch.zeros(4))
climber = torch.optim.SGD([mean], lr=0.1, maximize=True)
for step in range(4):
    likely = torch.distributions.Normal(mean, 1.0).log_prob(x).mean()
    climber.zero_grad()
    likely.backward()
    climber.step()
print(loss.item())
