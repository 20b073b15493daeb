"""Two groups by the end of the name; what is called neither weight nor bias is in none."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1, 4))
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        return self.out(x * self.scale)


def groups(model):
    decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
    rest = [p for n, p in model.named_parameters() if n.endswith("bias")]  # <- finding
    return [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.AdamW(groups(model), lr=0.01)
for _ in range(6):
    x = torch.randn(16, 4)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
