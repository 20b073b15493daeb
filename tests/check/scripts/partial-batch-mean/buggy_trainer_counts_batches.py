"""A trainer that counts its batches and divides a tensor of summed losses by them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model):
        self.model = model
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def batch_loss(self, batch):
        x, y = batch
        return self.loss(self.model(x), y)

    def fit(self, loader):
        for batch in loader:
            self.optimizer.zero_grad()
            self.batch_loss(batch).backward()
            self.optimizer.step()

    def validate(self, loader):
        total, batches = torch.zeros(()), 0
        with torch.no_grad():
            for batch in loader:
                total += self.batch_loss(batch)
                batches += 1
        return (total / batches).item()  # <- finding


torch.manual_seed(0)
data = TensorDataset(torch.randn(24, 3), torch.randint(0, 2, (24,)))
held_out = TensorDataset(torch.randn(21, 3), torch.randint(0, 2, (21,)))
trainer = Trainer(nn.Linear(3, 2))
trainer.fit(DataLoader(data, batch_size=8))
print(trainer.validate(DataLoader(held_out, batch_size=10)))
