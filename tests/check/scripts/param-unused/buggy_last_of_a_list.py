"""A loop over all layers but the last; and a branch that is made and not called."""

import torch
from torch import nn


class Branch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.norm(self.conv(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = Branch(4)
        self.right = Branch(4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        x = self.left(x) + self.left(x)  # <- finding
        x = x.mean(2)
        for layer in self.layers[:-1]:  # <- finding
            x = torch.relu(layer(x))
        return x


class Trainer:
    def __init__(self):
        self.model = Encoder()
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x).pow(2).mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
trainer = Trainer()
print([trainer.step(torch.randn(6, 4, 5)) for _ in range(3)])
