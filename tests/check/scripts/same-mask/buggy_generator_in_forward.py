"""A noise layer that makes its generator, with its seed, in every forward."""

import torch
from torch import nn


class GaussianNoise(nn.Module):
    def __init__(self, std, seed=0):
        super().__init__()
        self.std, self.seed = std, seed

    def forward(self, x):
        if not self.training:
            return x
        generator = torch.Generator().manual_seed(self.seed)  # <- finding
        return x + self.std * torch.randn(x.shape, generator=generator)


torch.manual_seed(1)
model = nn.Sequential(GaussianNoise(0.1), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(12, 8)
for epoch in range(5):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), x)
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x), x).item())
