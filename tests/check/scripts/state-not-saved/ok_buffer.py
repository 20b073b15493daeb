"""Buffers, and an attribute that is handed over besides the state."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.scale = torch.ones(3)
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc((x - self.mean) / self.scale)


x = torch.randn(40, 3) + 4
model = Model()
model.mean.copy_(x.mean(0))
model.scale = x.std(0)
saved = {"model": model.state_dict(), "scale": model.scale}
served = Model()
served.load_state_dict(saved["model"])
served.scale = saved["scale"]
print(torch.equal(served(x), model(x)))
