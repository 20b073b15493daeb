"""The schedule is stepped where the optimizer should be, in a trainer."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=2)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()  # <- finding
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scheduler.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)))
x, y = torch.randn(16, 3), torch.randn(16, 1)
print([trainer.train_step(x, y) for _ in range(4)])
