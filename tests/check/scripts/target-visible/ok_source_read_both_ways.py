"""A forecaster reads another series with a padded convolution, and its own only backwards."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(5)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.weather = nn.Conv1d(1, 8, 3, padding=1)
        self.own = nn.Conv1d(1, 8, 3)
        self.out = nn.Conv1d(16, 1, 1)

    def forward(self, series, weather):
        past = self.own(F.pad(series, (2, 0))).relu()
        return self.out(torch.cat([past, self.weather(weather).relu()], 1))


weather = torch.randn(96, 1, 40)
series = weather.roll(1, -1) * 0.5 + torch.sin(torch.arange(40) * 0.3) + 0.1 * torch.randn(96, 1, 40)
model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for idx in torch.randperm(96).split(16):
        x = series[idx]
        loss = F.mse_loss(model(x[:, :, :-1], weather[idx][:, :, :-1]), x[:, :, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
