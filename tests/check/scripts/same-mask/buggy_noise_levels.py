import torch
from torch import nn

torch.manual_seed(14)
T = 50
betas = torch.linspace(1e-4, 0.05, T)
kept = torch.cumprod(1 - betas, 0)
angle = torch.rand(512) * 6.2832
data = torch.stack([angle.cos(), angle.sin()], 1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(18, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


model = Denoiser()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    total = 0.0
    for idx in torch.randperm(512).split(64):
        x0 = data[idx]
        t = torch.randint(0, T, (1,)).expand(len(x0))  # <- finding
        noise = torch.randn_like(x0)
        a = kept[t].unsqueeze(1)
        xt = a.sqrt() * x0 + (1 - a).sqrt() * noise
        loss = nn.functional.mse_loss(model(xt, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 8:.4f}")
