"""A method that grows a table assigns a new parameter, while the trainer's optimizer holds the old one."""

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Parameter(0.1 * torch.randn(rows, width))
        self.out = nn.Linear(width, 1)

    def grow(self, rows):
        more = 0.1 * torch.randn(rows, self.table.shape[1])
        self.table = nn.Parameter(torch.cat([self.table.data, more]))  # <- finding

    def forward(self, index):
        return self.out(self.table[index])


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, rows, steps=3):
        for _ in range(steps):
            index = torch.randint(0, rows, (16,))
            loss = nn.functional.mse_loss(self.model(index), index[:, None].float())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(Memory(4, 8))
print(trainer.fit(4))
trainer.model.grow(4)
print(trainer.fit(8))
