"""The statistics of the inputs are plain attributes."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.zeros(3)  # <- finding
        self.fc = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc(x - self.mean)


x = torch.randn(40, 3) + 4
target = x.sum(1, keepdim=True)
model = Model()
model.mean = x.mean(0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
served = Model()
served.load_state_dict(model.state_dict())
with torch.no_grad():
    print(nn.functional.mse_loss(served(x), target).item())
