import torch
from torch import nn


class Forecaster(nn.Module):
    def __init__(self, steps, features):
        super().__init__()
        self.norm = nn.BatchNorm1d(steps)
        self.rnn = nn.GRU(features, 24, batch_first=True)
        self.head = nn.Linear(24, 1)

    def forward(self, x):
        x = self.norm(x)  # <- finding
        return self.head(self.rnn(x)[0][:, -1]).squeeze(1)


torch.manual_seed(23)
scale = torch.tensor([1.0, 100.0, 0.01, 10.0])
raw = torch.randn(300, 12, 4)
x, y = raw * scale, raw[:, -3:, 0].sum(1)
model = Forecaster(12, 4)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for i in torch.randperm(300).split(50):
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
