"""An nn.RNN that must remember the first of a hundred inputs."""

import torch
from torch import nn


class Recall(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(4, 16, batch_first=True)  # <- finding
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.head(states[:, -1])


torch.manual_seed(0)
model = Recall()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(8, 100, 4)
y = (x[:, 0, 0] > 0).long()
for epoch in range(4):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
