"""The second loss is computed and returned, and the caller throws it away."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.main = nn.Linear(8, 1)
        self.again = nn.Linear(8, 4)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.main(h), self.again(h)


def losses(model, x):
    main, again = model(x)
    return nn.functional.mse_loss(main, x.sum(1, keepdim=True)), nn.functional.mse_loss(again, x)


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    loss, _ = losses(model, torch.randn(16, 4))  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
