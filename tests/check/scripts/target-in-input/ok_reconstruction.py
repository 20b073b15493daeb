"""An autoencoder, and a network that recalls the first value of a sequence."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(120, 8)
model = nn.Sequential(nn.Linear(8, 3), nn.Tanh(), nn.Linear(3, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class Recall(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


recall = Recall()
optimizer = torch.optim.Adam(recall.parameters(), lr=1e-2)
for step in range(6):
    sequence = torch.randn(40, 6, 1)
    loss = nn.functional.mse_loss(recall(sequence), sequence[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
