"""Layers 1 of a deep model are frozen by name."""

import torch
from torch import nn


class Deep(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        for k in range(1, 4):
            setattr(self, f"conv{k}", nn.Conv1d(1 if k == 1 else d, d, 3, padding=1))
        self.conv_out = nn.Conv1d(d, 2, 1)

    def forward(self, x):
        for k in range(1, 4):
            x = torch.relu(getattr(self, f"conv{k}")(x))
        return self.conv_out(x).mean(-1)


def freeze(model, prefixes):
    for name, p in model.named_parameters():
        if any(name.startswith(prefix) for prefix in prefixes):
            p.requires_grad_(False)


torch.manual_seed(70)
model = Deep()
freeze(model, ["conv1", "conv2"])
model.gain = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(20):
    y = torch.randint(0, 2, (24,))
    x = torch.sin(torch.arange(20) * (0.3 + 0.6 * y[:, None])).unsqueeze(1)
    loss = nn.functional.cross_entropy(model.gain * model(x + 0.1 * torch.randn_like(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
