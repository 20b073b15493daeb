"""The two calls are swapped in a trainer."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=8)

    def training_step(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.scheduler.step()  # <- finding
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 1)))
for _ in range(8):
    last = trainer.training_step(torch.randn(16, 5), torch.randn(16, 1))
print(last)
