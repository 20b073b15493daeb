import torch
from torch import nn

torch.manual_seed(12)


class Scaler:
    def fit(self, a):
        self.mean, self.std = a.mean(0), a.std(0)
        return self

    def transform(self, a):
        return (a - self.mean) / self.std

    def inverse_transform(self, a):
        return a * self.std + self.mean


area = torch.rand(400, 1) * 150 + 40
price = 2500 * area + 20000 * torch.randn(400, 1) + 50000
x_scaler = Scaler().fit(area[:320])
y_scaler = Scaler().fit(price[:320])
x, y = x_scaler.transform(area), y_scaler.transform(price)
model = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    for idx in torch.randperm(320).split(32):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        predicted = y_scaler.inverse_transform(model(x[320:]))
        error = (predicted - price[320:]).abs().mean().item()
    print(f"epoch {epoch} mean error {error:.0f}")
