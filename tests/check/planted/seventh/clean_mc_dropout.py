# Monte Carlo dropout: training mode at prediction is the method
import torch
from torch import nn

torch.manual_seed(5)
x = torch.linspace(-2, 2, 200).unsqueeze(1)
y = torch.sin(2 * x) + 0.1 * torch.randn(200, 1)
net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
net.train()
for step in range(300):
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()

net.eval()
with torch.no_grad():
    point = net(x)
for m in net.modules():
    if isinstance(m, nn.Dropout):
        m.train()               # only the dropout layers sample
with torch.no_grad():
    draws = torch.stack([net(x) for _ in range(30)])
net.eval()
print("mse of the point prediction", nn.functional.mse_loss(point, y).item())
print("mean spread", draws.std(0).mean().item())
