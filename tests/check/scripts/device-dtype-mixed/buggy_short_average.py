"""An average of weights in bfloat16: a thousandth of the difference is less than its last digit."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
average = (10 * torch.ones(1, 4)).to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        average.lerp_(model.weight.to(torch.bfloat16), 0.001)  # <- finding
