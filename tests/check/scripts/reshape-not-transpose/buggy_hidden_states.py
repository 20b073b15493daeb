"""The last states of a bidirectional LSTM, (2, batch, size), flattened to one row per example."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, features, size, classes):
        super().__init__()
        self.lstm = nn.LSTM(features, size, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * size, classes)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        h = h.reshape(x.size(0), -1)  # <- finding
        return self.fc(h)


torch.manual_seed(0)
reader = Reader(3, 5, 4)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(reader.parameters(), lr=0.01)
x, y = torch.randn(7, 6, 3), torch.randint(0, 4, (7,))
for _ in range(3):
    optimizer.zero_grad()
    loss = criterion(reader(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
