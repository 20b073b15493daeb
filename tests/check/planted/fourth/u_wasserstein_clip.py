"""Wasserstein GAN with weight clipping on a two-component mixture."""
import torch
from torch import nn


def mixture(n):
    center = torch.where(torch.rand(n, 1) < 0.5, -1.0, 1.0)
    return center + 0.2 * torch.randn(n, 2)


class Critic(nn.Module):
    def __init__(self, clip=0.1):
        super().__init__()
        self.clip = clip
        self.net = nn.Sequential(
            nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1, bias=False)
        )

    def forward(self, x):
        return self.net(x)

    def clip_weights(self):
        for p in self.parameters():
            p.data.clamp_(-self.clip, self.clip)  # BUG inplace-breaks-backward


torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 2))
critic = Critic()
critic_opt = torch.optim.RMSprop(critic.parameters(), lr=5e-3)
generator_opt = torch.optim.RMSprop(generator.parameters(), lr=1e-3)

for step in range(80):
    for _ in range(3):
        with torch.no_grad():
            fake = generator(torch.randn(64, 3))
        gap = critic(mixture(64)).mean() - critic(fake).mean()
        critic_opt.zero_grad()
        critic.clip_weights()  # BUG inplace-breaks-backward
        (-gap).backward()
        critic_opt.step()
    loss = -critic(generator(torch.randn(64, 3))).mean()
    generator_opt.zero_grad()
    loss.backward()
    generator_opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} gap {gap.item():.4f} generator {loss.item():.4f}")

with torch.no_grad():
    print("sample spread", generator(torch.randn(500, 3)).std(0).tolist())
