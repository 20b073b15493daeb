"""Conditional GAN for class-conditional points."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class G(nn.Module):
    def __init__(self, n_cls=3):
        super().__init__()
        self.emb = nn.Embedding(n_cls, 4)
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z, y):
        return self.net(torch.cat([z, self.emb(y)], 1))


class D(nn.Module):
    def __init__(self, n_cls=3):
        super().__init__()
        self.emb = nn.Embedding(n_cls, 4)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x, y):
        return self.net(torch.cat([x, self.emb(y)], 1))


torch.manual_seed(0)
means = torch.tensor([[2.0, 0], [-2, 0], [0, 2]])
gen, dis = G(), D()
og = torch.optim.Adam(gen.parameters(), lr=3e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(dis.parameters(), lr=3e-3, betas=(0.5, 0.99))
for step in range(300):
    y = torch.randint(0, 3, (64,))
    real = means[y] + 0.2 * torch.randn(64, 2)
    fake = gen(torch.randn(64, 4), y)
    d_loss = F.softplus(-dis(real, y)).mean() + F.softplus(dis(fake.detach(), y)).mean()
    od.zero_grad()
    d_loss.backward()
    od.step()
    g_loss = F.softplus(-dis(fake, y)).mean()
    og.zero_grad()
    g_loss.backward()
    og.step()
with torch.no_grad():
    err = torch.stack([(gen(torch.randn(500, 4), torch.full((500,), k)).mean(0) - means[k]).norm() for k in range(3)])
print("distance of class means", err.tolist())
