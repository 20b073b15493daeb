"""Training with clipping in a helper."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model, lr=1e-2, clip=1.0):
        self.model, self.clip = model, clip
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def update(self, loss):
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.zero_grad()  # BUG zero-between-backward-and-step
        self.optimizer.step()

    def fit(self, x, y, epochs=5, batch=20):
        for epoch in range(epochs):
            for i in range(0, len(x), batch):
                self.model.train()
                loss = nn.functional.mse_loss(self.model(x[i : i + batch]), y[i : i + batch])
                self.update(loss)
        return loss.item()


torch.manual_seed(0)
x = torch.randn(100, 4)
y = x @ torch.randn(4, 1)
trainer = Trainer(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)))
print("loss", round(trainer.fit(x, y), 3))
