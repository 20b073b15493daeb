"""One deep network of sigmoids, used for both members of a pair, whose energies add up."""

import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, width=16, depth=10):
        super().__init__()
        layers = [nn.Linear(6, width)]
        for _ in range(depth):
            layers += [nn.Sigmoid(), nn.Linear(width, width)]  # <- finding
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(1)


torch.manual_seed(0)
model = Scorer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(20):
    first, second = torch.randn(32, 6), torch.randn(32, 6)
    energy = (first + second).square().mean(dim=1)
    loss = (model(first) + model(second) - energy).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", loss.item())
