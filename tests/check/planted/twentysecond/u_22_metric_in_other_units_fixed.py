import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
price = 200 + 50 * X[:, :1] + 5 * torch.randn(256, 1)
mu, sd = price[:192].mean(), price[:192].std()
target = (price - mu) / sd
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    net.train()
    for i in range(0, 192, 32):
        loss = F.mse_loss(net(X[i : i + 32]), target[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        mae = F.l1_loss(net(X[192:]) * sd + mu, price[192:])
    print(epoch, mae.item())
