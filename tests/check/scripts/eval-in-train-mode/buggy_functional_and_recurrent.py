"""Dropout by the function, with the mode passed on, behind an LSTM with dropout between its layers: nobody calls eval()."""

import torch
import torch.nn.functional as F
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(F.dropout(states[:, -1], 0.5, training=self.training)), states


torch.manual_seed(0)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
x, y = torch.randn(24, 5, 3), torch.randint(0, 2, (24,))
best = 0.0
for epoch in range(3):
    optimizer.zero_grad()
    scores, _ = reader(x[:16])
    F.cross_entropy(scores, y[:16]).backward()
    optimizer.step()
    with torch.no_grad():
        scores, _ = reader(x[16:])  # <- finding
        accuracy = scores.argmax(dim=1).eq(y[16:]).float().mean()
    if accuracy > best:
        best = accuracy
print(f"{best:.3f}")
