import torch
import torch.nn as nn

torch.manual_seed(24)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    grad = torch.autograd.grad(  # BUG gradient-cut
        outputs=score,
        inputs=mix,
        grad_outputs=torch.ones_like(score),
        retain_graph=True,  # BUG gradient-cut
    )[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = Critic()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
for step in range(80):
    for _ in range(3):
        real = torch.randn(64, 2) * 0.3 + torch.tensor([1.0, -1.0])
        fake = G(torch.randn(64, 4)).detach()
        gp = gradient_penalty(critic, real, fake)
        loss_c = critic(fake).mean() - critic(real).mean() + 10.0 * gp
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -critic(G(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 20 == 19:
        print(step, loss_c.item(), gp.item())
