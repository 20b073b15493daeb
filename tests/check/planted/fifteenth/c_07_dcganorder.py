"""A small convolutional GAN on 8x8 blobs."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, z=16):
        super().__init__()
        self.fc = nn.Linear(z, 16 * 4 * 4)
        self.up = nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1)

    def forward(self, z):
        h = F.relu(self.fc(z)).view(-1, 16, 4, 4)
        return torch.tanh(self.up(h))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 4, stride=2, padding=1)
        self.fc = nn.Linear(16 * 4 * 4, 1)

    def forward(self, x):
        return self.fc(F.leaky_relu(self.conv(x), 0.2).flatten(1)).squeeze(1)


def blobs(n):
    grid = torch.linspace(-1, 1, 8)
    c = 0.5 * torch.randn(n, 2, 1, 1)
    d = (grid.view(1, 1, 8) - c[:, 0]) ** 2 + (grid.view(1, 8, 1) - c[:, 1]) ** 2
    return (2 * torch.exp(-4 * d) - 1).unsqueeze(1)


torch.manual_seed(5)
netG, netD = Generator(), Discriminator()
optG = torch.optim.Adam(netG.parameters(), 2e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), 2e-3, betas=(0.5, 0.999))
for it in range(120):
    optD.zero_grad()
    optG.zero_grad()
    real = blobs(32)
    fake = netG(torch.randn(32, 16))
    # hinge loss
    lossD = F.relu(1 - netD(real)).mean() + F.relu(1 + netD(fake)).mean()  # BUG gan-fake-not-detached|leftover-gradients
    lossD.backward(retain_graph=True)  # BUG gan-fake-not-detached|leftover-gradients
    optD.step()

    lossG = -netD(fake).mean()
    lossG.backward()  # BUG gan-fake-not-detached|leftover-gradients
    optG.step()  # BUG gan-fake-not-detached|leftover-gradients
    if it % 40 == 0:
        print(it, lossD.item(), lossG.item())
