"""Micro-batches whose gradients are cleared for each of them, in a trainer."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 12)
        self.head = nn.Linear(12, 3)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


class Trainer:
    def __init__(self, model, accumulate):
        self.model = model
        self.accumulate = accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, batches):
        for k, (x, y) in enumerate(batches):
            self.model.zero_grad()  # <- finding
            loss = self.criterion(self.model(x), y) / self.accumulate
            loss.backward()
            if (k + 1) % self.accumulate == 0:
                self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
data = [(torch.randn(8, 6), torch.randint(0, 3, (8,))) for _ in range(12)]
print(Trainer(Net(), 4).fit(data))
