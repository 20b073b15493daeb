"""Prices are trained as logarithms; the error is reported in money."""
import torch
from torch import nn

torch.manual_seed(32)
x = torch.randn(500, 6)
price = torch.exp(4 + 0.5 * x[:, 0] - 0.3 * x[:, 1])
train, test = slice(0, 400), slice(400, 500)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    model.train()
    for i in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(model(x[i]).squeeze(1), price[i].log())
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        pred = model(x[test]).squeeze(1)
        mae = (pred.exp() - price[test]).abs().mean()
    print(f"epoch {epoch}: log mse {loss.item():.3f}, mae {mae.item():.2f}")
