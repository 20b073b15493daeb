"""A recurrent network predicts the next value at every step: its targets are its later inputs."""

import torch
from torch import nn


class Next(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


torch.manual_seed(0)
series = torch.sin(torch.arange(300) / 4) + 0.3 * torch.randn(300)
rows = torch.stack([series[i : i + 17] for i in range(0, 280, 4)]).unsqueeze(-1)
model = Next()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    loss = nn.functional.mse_loss(model(rows[:, :-1]), rows[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
