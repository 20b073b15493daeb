"""A running average of a layer's own, kept by hand, and a file in between."""

import io

import torch
from torch import nn

torch.manual_seed(0)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = torch.ones(())  # <- finding

    def forward(self, x):
        if self.training:
            self.size = 0.9 * self.size + 0.1 * x.abs().mean()
        return x / self.size


def build():
    return nn.Sequential(Scale(), nn.Linear(4, 2))


x = torch.randn(32, 4) * 9
model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    loss.backward()
    optimizer.step()
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
model = build()
model.load_state_dict(torch.load(file))
model.eval()
with torch.no_grad():
    print(model(x).argmax(1).sum().item())
