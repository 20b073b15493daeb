"""AdamW with weight decay for matrices only."""

import torch
from torch import nn


def configure_optimizer(model, lr=3e-3, wd=0.1):
    decay, no_decay = [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if isinstance(module, (nn.Linear, nn.Embedding)) and name == "weight":
                decay.append(p)
            elif name == "bias":  # BUG param-not-in-optimizer
                no_decay.append(p)
    groups = [
        {"params": decay, "weight_decay": wd},
        {"params": no_decay, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)  # BUG param-not-in-optimizer


class Net(nn.Module):
    def __init__(self, vocab=30, d=24, length=8):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.norm = nn.LayerNorm(d)
        self.mix = nn.Linear(d * (length + 1), d)
        self.out = nn.Linear(d, 3)

    def forward(self, ids):
        x = torch.cat([self.cls.expand(len(ids), -1, -1), self.tok(ids)], 1)
        return self.out(torch.relu(self.mix(self.norm(x).flatten(1))))


torch.manual_seed(49)
model = Net()
optimizer = configure_optimizer(model)
for step in range(30):
    ids = torch.randint(0, 30, (32, 8))
    y = ids.max(1).values.sub(20).clamp(0).div(4, rounding_mode="floor").clamp(max=2)
    loss = nn.functional.cross_entropy(model(ids), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
