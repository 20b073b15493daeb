"""The window of a data set is one step too long."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        past = self.series[i : i + self.length + 1]  # <- finding
        return past.unsqueeze(-1), self.series[i + self.length]


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states[:, -1]).squeeze(-1)


torch.manual_seed(0)
series = torch.sin(torch.arange(200) / 4) + 0.3 * torch.randn(200)
loader = DataLoader(Windows(series, 10), batch_size=32, shuffle=True)
model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for past, following in loader:
        loss = nn.functional.mse_loss(model(past), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
