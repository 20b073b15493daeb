"""The first two of twelve layers are to be frozen; "layers.1" is also the beginning of layers.10 and layers.11."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth=12):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(depth))
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = x + 0.1 * torch.tanh(layer(x))
        return self.head(x)


torch.manual_seed(0)
model = Net()
for name, p in model.named_parameters():
    if "layers.0" in name or "layers.1" in name:  # <- finding
        p.requires_grad = False
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)

for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
