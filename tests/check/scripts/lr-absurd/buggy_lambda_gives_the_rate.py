"""The function of a LambdaLR gives the rate itself; it is multiplied by the optimizer's."""

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

PEAK, WARM = 2e-3, 10


def rate(step):
    return PEAK * min(1.0, (step + 1) / WARM)  # <- finding


torch.manual_seed(0)
x = torch.randn(48, 5)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK)
schedule = LambdaLR(optimizer, rate)
for step in range(40):
    loss = nn.functional.mse_loss(model(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print(loss.item())
