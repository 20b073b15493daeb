"""A forecaster predicts several steps; its target has one axis less than the prediction."""

import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 8, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out)


torch.manual_seed(0)
series = torch.sin(torch.arange(200) / 5)
windows = torch.stack([series[i : i + 13] for i in range(0, 180, 12)])
x, y = windows[:, :-1].unsqueeze(-1), windows[:, 1:]
model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.L1Loss()
for _ in range(4):
    optimizer.zero_grad()
    loss = loss_fn(model(x[:12]), y[:12])  # <- finding
    loss.backward()
    optimizer.step()
print(loss.item())
