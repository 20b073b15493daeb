"""A hook in each block takes a tenth of the gradient."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 16)
y = (x[:, 0] > 0).long()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 16)

    def forward(self, x):
        h = x + 0.3 * torch.tanh(self.fc(x))
        if h.requires_grad:
            h.register_hook(lambda g: 0.1 * g)  # <- finding
        return h


net = nn.Sequential(*[Block() for _ in range(8)], nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(40):
    i = torch.randint(0, 256, (32,))
    loss = F.cross_entropy(net(x[i]), y[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
