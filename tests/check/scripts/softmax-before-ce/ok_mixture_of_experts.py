"""As many experts as classes: gates are a softmax that is multiplied with the experts' logits."""

import torch
import torch.nn.functional as F
from torch import nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList([nn.Linear(6, 3) for _ in range(3)])

    def forward(self, x):
        gates = F.softmax(self.gate(x), dim=-1)
        out = gates[:, :1] * self.experts[0](x)
        for k in (1, 2):
            out = out + gates[:, k : k + 1] * self.experts[k](x)
        return out * gates.sum(-1, keepdim=True)


torch.manual_seed(0)
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(24, 6), torch.randint(0, 3, (24,))
for _ in range(5):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
