"""A loss with learned task weights that the optimizer of the trainer does not know, and a tensor that is no parameter."""

import torch
from torch import nn


class WeightedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_variance = nn.Parameter(torch.zeros(2))

    def forward(self, losses):
        return (torch.exp(-self.log_variance) * losses + self.log_variance).sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 8)
        self.heads = nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
        self.gain = torch.ones(8, requires_grad=True)  # <- finding

    def forward(self, x):
        h = torch.tanh(self.body(x)) * self.gain
        return [head(h) for head in self.heads]


class Trainer:
    def __init__(self):
        self.net, self.criterion = Net(), WeightedLoss()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)  # <- finding

    def step(self, x, targets):
        outputs = self.net(x)
        losses = torch.stack([nn.functional.mse_loss(o, t) for o, t in zip(outputs, targets)])
        loss = self.criterion(losses)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer()
print([trainer.step(torch.randn(8, 3), torch.randn(2, 8, 1)) for _ in range(4)])
