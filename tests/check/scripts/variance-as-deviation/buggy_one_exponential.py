"""One exp(v) is the factor of the noise and the variance of the divergence."""

import torch
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.spread = nn.Linear(6, 3), nn.Linear(6, 3)
        self.out = nn.Linear(3, 2)

    def forward(self, x):
        mean, spread = self.mean(x), self.spread(x)
        power = torch.exp(spread)  # <- finding
        noise = torch.randn(mean.shape)
        kl = 0.5 * (power + mean**2 - spread - 1.0).sum(dim=1)
        return self.out(noise * power + mean), kl.mean()


torch.manual_seed(0)
model = Bottleneck()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(6):
    x = torch.randn(32, 6)
    scores, kl = model(x)
    loss = nn.functional.cross_entropy(scores, (x[:, 0] > 0).long()) + 0.01 * kl
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
