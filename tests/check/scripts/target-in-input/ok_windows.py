"""Windows that end before the value to predict."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length):
        self.series, self.length = series, length

    def __len__(self):
        return len(self.series) - self.length

    def __getitem__(self, i):
        return self.series[i : i + self.length], self.series[i + self.length]


torch.manual_seed(0)
series = torch.sin(torch.arange(200) / 4) + 0.3 * torch.randn(200)
loader = DataLoader(Windows(series, 10), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for past, following in loader:
        loss = nn.functional.mse_loss(model(past), following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
