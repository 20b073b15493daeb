"""Each column has its own scale, as long as the loop runs."""

import torch
from torch import nn

torch.manual_seed(0)
raw = torch.randn(60, 3) * torch.tensor([1.0, 5.0, 20.0]) + torch.tensor([0.0, 10.0, -50.0])
y = raw[:, 0] > 0
scale = []
for k in range(3):
    mean, std = raw[:, k].mean(), raw[:, k].std()
    scale.append(lambda rows: (rows[:, k] - mean) / std)  # <- finding
x = torch.stack([f(raw) for f in scale], 1)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y.float()).backward()
    optimizer.step()
