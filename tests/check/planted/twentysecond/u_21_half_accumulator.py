import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).to(
    torch.bfloat16
)  # BUG device-dtype-mixed|lr-absurd|setting-without-effect|running-sum
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for epoch in range(6):
    for i in range(0, 256, 32):
        x, t = X[i : i + 32], T[i : i + 32]
        out = net(x.to(torch.bfloat16)).float()
        loss = F.mse_loss(out, t)
        opt.zero_grad()
        loss.backward()
        opt.step()
