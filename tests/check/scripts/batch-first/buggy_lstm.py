"""Batches of (samples, time, features) for an LSTM that takes the first axis for time."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8)  # <- finding
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


x = torch.randn(96, 7, 3)
y = (x[:, :, 0].sum(1) > 0).long()
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for rows, labels in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
