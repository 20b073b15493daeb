"""The model's layers have got other names since."""

import torch
from torch import nn

torch.manual_seed(0)


class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 2)


class New(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.outer(self.inner(x).relu())


model = New()
model.load_state_dict(Old().state_dict(), strict=False)  # <- finding
print(model(torch.randn(2, 4)).sum().item())
