"""The root of a negative number is hidden by torch.where, its derivative is not."""

import torch
from torch import nn


class Retention(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.tensor(0.0))
        self.gain = nn.Parameter(torch.tensor(0.5))
        self.floor = nn.Parameter(torch.tensor(0.5))

    def forward(self, suction):
        z = suction - self.shift
        wet = self.gain * torch.sqrt(z)  # <- finding
        return torch.where(z > 0, wet, torch.zeros_like(z)) + self.floor


torch.manual_seed(0)
suction = torch.rand(300) * 4 - 0.5
truth = torch.where(suction > 0.3, 1.4 * (suction - 0.3).clamp(min=0).sqrt(), torch.zeros(300)) + 0.2
model = Retention()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(400):
    loss = (model(suction) - truth).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, loss.item())
print({k: round(v.item(), 3) for k, v in model.named_parameters()})
print("truth shift 0.3 gain 1.4 floor 0.2; last loss", loss.item())
