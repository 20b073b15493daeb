import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

T_ = 100
betas = torch.linspace(1e-4, 0.02, T_)
abar = torch.cumprod(1 - betas, 0)
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = torch.randn(256, 2) * 0.3 + torch.tensor([1.0, -1.0])
for it in range(60):
    x0 = data[torch.randint(0, 256, (64,))]
    t = torch.randint(0, T_, (64,))
    eps = torch.randn_like(x0)
    a = abar[t][:, None]
    xt = a.sqrt() * x0 + (1 - a).sqrt() * eps
    loss = F.mse_loss(net(torch.cat([xt, t[:, None] / T_], 1)), eps)
    opt.zero_grad()
    loss.backward()
    opt.step()
