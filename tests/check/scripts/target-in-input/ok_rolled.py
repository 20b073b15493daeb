import torch
from torch import nn

torch.manual_seed(33)
t = torch.arange(600.0)
load = torch.sin(t / 12) + 0.3 * torch.sin(t / 5) + 0.1 * torch.randn(600)

lags = torch.stack([torch.roll(load, k) for k in range(1, 6)], dim=1)
x, y = lags[5:-5], torch.roll(load, 0)[5:-5]
x_train, y_train, x_test, y_test = x[:450], y[:450], x[450:], y[450:]
model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for i in torch.randperm(450).split(45):
        loss = nn.functional.mse_loss(model(x_train[i]).squeeze(1), y_train[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(epoch, nn.functional.mse_loss(model(x_test).squeeze(1), y_test).item())
