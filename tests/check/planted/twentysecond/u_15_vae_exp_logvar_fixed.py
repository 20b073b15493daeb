import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(12, 8), nn.Linear(4, 12)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return self.dec(z), kl


x = torch.randn(256, 12)
net = VAE()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for i in range(0, 256, 32):
        out, kl = net(x[i : i + 32])
        loss = F.mse_loss(out, x[i : i + 32], reduction="none").sum(1).mean() + kl
        opt.zero_grad()
        loss.backward()
        opt.step()
