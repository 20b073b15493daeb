"""Image-to-image style adversarial training with a requires_grad toggle."""
import torch
from torch import nn
import torch.nn.functional as F


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad = flag


class Model:
    def __init__(self):
        self.g = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
        self.d = nn.Sequential(nn.Linear(3, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
        self.og = torch.optim.Adam(self.g.parameters(), lr=2e-3, betas=(0.5, 0.999))
        self.od = torch.optim.Adam(self.d.parameters(), lr=2e-3, betas=(0.5, 0.999))

    def step(self, a, b):
        fake = self.g(a)
        set_requires_grad(self.d, False)
        out = self.d(fake)
        g_loss = F.mse_loss(out, torch.ones_like(out)) + 2 * F.l1_loss(fake, b)
        self.og.zero_grad()
        g_loss.backward()
        self.og.step()
        set_requires_grad(self.d, True)
        self.d_real, self.d_fake = self.d(b), self.d(fake.detach())
        d_loss = (self.d_real - 1).pow(2).mean() + self.d_fake.pow(2).mean()
        self.od.zero_grad()
        d_loss.backward()
        self.od.step()
        return g_loss.item(), d_loss.item()


torch.manual_seed(0)
w = torch.randn(6, 3) / 2
model = Model()
for it in range(250):
    a = torch.randn(64, 6)
    g, d = model.step(a, torch.tanh(a @ w))
with torch.no_grad():
    a = torch.randn(500, 6)
    print("G", g, "D", d, "l1", F.l1_loss(model.g(a), torch.tanh(a @ w)).item())
