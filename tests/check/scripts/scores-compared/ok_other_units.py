import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 6)
price = 250_000 + 40_000 * x[:, :1] - 15_000 * x[:, 1:2] + 5_000 * torch.randn(400, 1)
x_train, x_val, y_train, y_val = x[:300], x[300:], price[:300], price[300:]
mean, std = y_train.mean(), y_train.std()
scaled = (y_train - mean) / std
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x_train[rows]), scaled[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = (model(x_val) * std + mean - y_val).abs().mean()
    print(epoch, error.item())
