"""A deep convolutional GAN (Radford, Metz, Chintala, 2015) on the handwritten digits.

python dcgan.py [--epochs N] [--quick]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

DATA = Path(__file__).resolve().parent / "data" / "digits.csv.gz"
NZ, NGF, NDF = 32, 16, 16


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(NZ, NGF * 2, 2, 1, 0, bias=False),
            nn.BatchNorm2d(NGF * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(NGF * 2, NGF, 4, 2, 1, bias=False),
            nn.BatchNorm2d(NGF),
            nn.ReLU(True),
            nn.ConvTranspose2d(NGF, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, NDF, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(NDF, NDF * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(NDF * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(NDF * 2, 1, 2, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=999)
    parser.add_argument("--quick", action="store_true", help="20 steps")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    images = (
        torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.float32)[:, :64]).view(
            -1, 1, 8, 8
        )
        / 8
        - 1
    )
    loader = DataLoader(TensorDataset(images), batch_size=64, shuffle=True, drop_last=True)
    netG, netD = Generator().apply(weights_init), Discriminator().apply(weights_init)
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(1, NZ, 1, 1)
    optimizerD = optim.Adam(netD.parameters(), lr=0.0002, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=0.0002, betas=(0.5, 0.999))
    start, iters = time.time(), 0
    for epoch in range(1 if args.quick else args.epochs):
        for (real,) in loader:
            netD.zero_grad()
            b_size = real.size(0)
            label = torch.full((b_size,), 1.0, dtype=torch.float)
            output = netD(real).view(-1)
            errD_real = criterion(output, label)
            errD_real.backward()
            D_x = output.mean().item()
            noise = torch.randn(b_size, NZ, 1, 1)
            fake = netG(noise)
            label.fill_(0.0)
            output = netD(fake.detach()).view(-1)
            errD_fake = criterion(output, label)
            errD_fake.backward()
            errD = errD_real + errD_fake
            optimizerD.step()
            netG.zero_grad()
            label.fill_(1.0)
            output = netD(fake).view(-1)
            errG = criterion(output, label)
            errG.backward()
            optimizerG.step()
            iters += 1
            if args.quick or iters % 20 == 0:
                print(
                    f"[{epoch}] step {iters:3d} Loss_D {errD.item():.4f} Loss_G {errG.item():.4f} D(x) {D_x:.4f}"
                )
            if args.quick and iters == 20:
                break
    print(f"{iters} steps in {time.time() - start:.1f} s")
    netG.eval()
    with torch.no_grad():
        picture = netG(fixed_noise)[0, 0]
    for row in picture:
        print("".join(" .:-=+*#%@"[min(int((v + 1) * 5), 9)] for v in row))


if __name__ == "__main__":
    main()
