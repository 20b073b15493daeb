# House prices, a regression with one output
import torch
from torch import nn

torch.manual_seed(1)
area = torch.rand(400) * 3
rooms = torch.randint(1, 6, (400,)).float()
age = torch.rand(400)
features = torch.stack([area, rooms / 5, age], dim=1)
price = 2 * area + 1.5 * rooms / 5 - age + 0.1 * torch.randn(400)

reg = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(reg.parameters(), lr=0.02)


def train_epoch(x, y, bs=50):
    total = 0.0
    for i in range(0, len(x), bs):
        pred = reg(x[i:i + bs]).squeeze(1)
        target = y[i:i + bs]
        loss = ((pred - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / (len(x) // bs)


for epoch in range(40):
    mse = train_epoch(features, price)
    if epoch % 10 == 9:
        print("epoch", epoch + 1, "mse", round(mse, 4))

with torch.no_grad():
    fitted = reg(features).squeeze(1)
r2 = 1 - ((fitted - price) ** 2).sum() / ((price - price.mean()) ** 2).sum()
print("R2 on the training houses:", round(r2.item(), 3))
