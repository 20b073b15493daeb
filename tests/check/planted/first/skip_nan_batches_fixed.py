"""Regression with a guard against outlier losses."""
import torch
from torch import nn


class GuardedTrainer:
    def __init__(self, model, max_loss):
        self.model, self.max_loss = model, max_loss
        self.opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        self.skipped = 0

    def step(self, x, y):
        self.opt.zero_grad(set_to_none=False)
        loss = nn.functional.mse_loss(self.model(x), y)
        if loss.item() < self.max_loss:
            loss.backward()
            self.opt.step()
        else:
            self.skipped += 1
        return loss.item()


torch.manual_seed(0)
w = torch.randn(6, 1)
trainer = GuardedTrainer(nn.Linear(6, 1), max_loss=200.0)
for i in range(300):
    x = torch.randn(32, 6)
    y = x @ w + 0.1 * torch.randn(32, 1)
    if i % 7 == 3:
        y = y + 100 * torch.randn(32, 1)
    last = trainer.step(x, y)
print("skipped", trainer.skipped, "error", (trainer.model.weight.data.t() - w).norm().item())
