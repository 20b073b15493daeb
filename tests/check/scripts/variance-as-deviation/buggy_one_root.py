import torch
from torch import nn

torch.manual_seed(0)
STEPS = 50
betas = torch.linspace(1e-4, 0.02, STEPS)
alpha_bar = torch.cumprod(1 - betas, dim=0)
data = torch.randn(512, 2) * 0.2 + torch.tensor([1.0, -1.0])
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(5):
    for rows in torch.randperm(512).split(64):
        x0 = data[rows]
        t = torch.randint(0, STEPS, (len(rows),))
        ab = alpha_bar[t].unsqueeze(1)
        noise = torch.randn_like(x0)
        xt = ab.sqrt() * x0 + (1 - ab) * noise  # <- finding
        predicted = net(torch.cat([xt, t.unsqueeze(1) / STEPS], dim=1))
        loss = nn.functional.mse_loss(predicted, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
