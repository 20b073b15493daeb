import torch
from torch import nn

torch.manual_seed(8)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def series(n):
    t = torch.arange(n, dtype=torch.float32)
    s = torch.sin(t / 5) + 0.1 * torch.randn(n)
    spikes = torch.rand(n) < 0.01
    return s + 30 * spikes


data = series(700)
windows = data.unfold(0, 21, 1)
inputs, targets = windows[:, :-1].unsqueeze(-1), windows[:, -1:]
model = Forecaster()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
loss_fn = nn.MSELoss()
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(len(inputs)).split(32):
        optimizer.zero_grad()
        loss = loss_fn(model(inputs[idx]), targets[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(epoch, total)
