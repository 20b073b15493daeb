import torch
from torch import nn

torch.manual_seed(50)
gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-4)
opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
for it in range(20):
    for _ in range(3):
        real = torch.randn(64, 2) + 3
        fake = gen(torch.randn(64, 4)).detach()
        loss_c = critic(fake).mean() - critic(real).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        for p in gen.parameters():
            p.data.clamp_(-0.05, 0.05)  # <- finding
    loss_g = -critic(gen(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    print(it, loss_c.item(), loss_g.item())
