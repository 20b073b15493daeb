import torch
from torch import nn


class Activity(nn.Module):
    """Activity from six sensor channels."""

    def __init__(self, channels=6, hidden=20, classes=3):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        _, (h, c) = self.lstm(x)
        return self.head(h[-1])


torch.manual_seed(22)
y = torch.randint(0, 3, (300,))
x = torch.randn(300, 10, 6) + 0.6 * y[:, None, None]
model = Activity()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for idx in torch.randperm(300).split(30):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
