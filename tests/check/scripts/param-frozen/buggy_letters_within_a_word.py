""" "enc" is for the encoder; "frequency" has these letters, too."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.frequency = nn.Linear(8, 1)
        self.amplitude = nn.Linear(8, 1)

    def forward(self, x):
        h = torch.tanh(self.encoder(x))
        return torch.cat([self.frequency(h), self.amplitude(h)], dim=1)


torch.manual_seed(0)
model = Net()
for name, p in model.named_parameters():
    if "enc" in name:  # <- finding
        p.requires_grad_(False)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
for _ in range(5):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x[:, :2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
