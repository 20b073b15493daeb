"""Averages in a dictionary: the loop binds its variable to the new one and keeps the old."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


class Shadow:
    def __init__(self, net, decay):
        self.decay = decay
        self.held = {name: p.detach().clone() for name, p in net.named_parameters()}

    @torch.no_grad()
    def update(self, net):
        own = dict(net.named_parameters())
        for name, kept in self.held.items():
            kept = kept + (1 - self.decay) * (own[name] - kept)  # <- finding


shadow = Shadow(model, 0.95)
for step in range(12):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    shadow.update(model)
print(loss.item(), shadow.held["bias"])
