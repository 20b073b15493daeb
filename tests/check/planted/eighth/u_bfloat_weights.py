# Weights in bfloat16 to save memory, plain SGD
import torch
from torch import nn

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
net = net.to(torch.bfloat16)  # BUG device-dtype-mixed|lr-absurd
x = torch.randn(512, 20).to(torch.bfloat16)
y = x[:, :4].sum(1, keepdim=True)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)  # BUG device-dtype-mixed|lr-absurd
for epoch in range(12):
    for i in range(0, 512, 64):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x[i:i + 64]), y[i:i + 64])
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0:
        print(epoch, loss.item())
