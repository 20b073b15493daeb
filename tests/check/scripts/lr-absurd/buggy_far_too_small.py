"""A learning rate with three zeros too many."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
trainer = Trainer(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)), lr=1e-7)  # <- finding
for epoch in range(3):
    print(epoch, trainer.fit(torch.utils.data.DataLoader(data, batch_size=16)))
