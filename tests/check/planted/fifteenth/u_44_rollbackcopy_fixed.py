"""Roll back to the last good weights when the validation loss jumps."""
import copy

import torch
from torch import nn


class SafeTrainer:
    def __init__(self, model, lr, tolerance=1.02):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.good, self.best = copy.deepcopy(model), float("inf")
        self.tolerance = tolerance

    def step(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss.item()

    def check(self, val):
        if val > self.best * self.tolerance:
            self.model.load_state_dict(self.good.state_dict())
            for group in self.opt.param_groups:
                group["lr"] *= 0.5
            return True
        if val < self.best:
            self.best, self.good = val, copy.deepcopy(self.model)
        return False


torch.manual_seed(0)
x = torch.randn(500, 8)
y = (x[:, :1] ** 2 - x[:, 1:2]) + 0.1 * torch.randn(500, 1)
xt, yt, xv, yv = x[:400], y[:400], x[400:], y[400:]
trainer = SafeTrainer(nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1)), lr=0.08)
for epoch in range(15):
    trainer.model.train()
    for idx in torch.randperm(400).split(25):
        trainer.step(xt[idx], yt[idx])
    trainer.model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(trainer.model(xv), yv).item()
    print(epoch, round(val, 4), "rolled back" if trainer.check(val) else "")
