"""A trainer keeps outputs in its history; and a recurrent state goes on from batch to batch with its graph."""

import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.history = {"outputs": [], "losses": []}
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(self, x, y):
        output = self.model(x)
        loss = nn.functional.mse_loss(output, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history["outputs"].append(output)  # <- finding
        self.history["losses"].append(loss.item())


torch.manual_seed(0)
trainer = Trainer(nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)))
for _ in range(8):
    trainer.step(torch.randn(8, 3), torch.randn(8, 1))
print(trainer.history["losses"][-1])

rnn, head = nn.GRU(3, 6, batch_first=True), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
state = torch.zeros(1, 4, 6)
for _ in range(4):
    out, state = rnn(torch.randn(4, 5, 3), state)  # <- finding
    loss = head(out).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
