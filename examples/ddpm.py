"""A denoising diffusion model (Ho, Jain and Abbeel, 2020) of the handwritten digits, sampled from
averaged weights.

python ddpm.py [--epochs N] [--quick]
"""

import argparse
import copy
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

DATA = Path(__file__).resolve().parent / "data" / "digits.csv.gz"


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half_dim = self.dim // 2
        embeddings = math.log(10000) / (half_dim - 1)
        embeddings = torch.exp(torch.arange(half_dim, device=time.device) * -embeddings)
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class ResnetBlock(nn.Module):
    def __init__(self, dim, dim_out, time_emb_dim, groups=4):
        super().__init__()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_emb_dim, dim_out * 2))
        self.conv1 = nn.Conv2d(dim, dim_out, 3, padding=1)
        self.norm1 = nn.GroupNorm(groups, dim_out)
        self.conv2 = nn.Conv2d(dim_out, dim_out, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, time_emb):
        scale, shift = self.mlp(time_emb)[:, :, None, None].chunk(2, dim=1)
        h = self.norm1(self.conv1(x)) * (scale + 1) + shift
        h = self.act(self.norm2(self.conv2(self.act(h))))
        return h + self.res_conv(x)


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8):
        super().__init__()
        self.scale = dim_head**-0.5
        self.heads = heads
        hidden_dim = dim_head * heads
        self.norm = nn.GroupNorm(1, dim)
        self.to_qkv = nn.Conv2d(dim, hidden_dim * 3, 1, bias=False)
        self.to_out = nn.Conv2d(hidden_dim, dim, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = (
            t.reshape(b, self.heads, -1, h * w) for t in self.to_qkv(self.norm(x)).chunk(3, dim=1)
        )
        sim = torch.einsum("b h d i, b h d j -> b h i j", q * self.scale, k)
        attn = sim.softmax(dim=-1)
        out = torch.einsum("b h i j, b h d j -> b h i d", attn, v)
        return x + self.to_out(out.transpose(-1, -2).reshape(b, -1, h, w))


class Unet(nn.Module):
    def __init__(self, dim=16, dim_mults=(1, 2)):
        super().__init__()
        time_dim = dim * 4
        self.time_mlp = nn.Sequential(
            SinusoidalPositionEmbeddings(dim),
            nn.Linear(dim, time_dim),
            nn.GELU(),
            nn.Linear(time_dim, time_dim),
        )
        self.init_conv = nn.Conv2d(1, dim, 3, padding=1)
        dims = [dim, *(dim * m for m in dim_mults)]
        self.downs = nn.ModuleList([])
        self.ups = nn.ModuleList([])
        for dim_in, dim_out in zip(dims[:-1], dims[1:]):
            self.downs.append(
                nn.ModuleList(
                    [
                        ResnetBlock(dim_in, dim_out, time_dim),
                        nn.Conv2d(dim_out, dim_out, 4, stride=2, padding=1),
                    ]
                )
            )
        self.mid1 = ResnetBlock(dims[-1], dims[-1], time_dim)
        self.mid_attn = Attention(dims[-1])
        self.mid2 = ResnetBlock(dims[-1], dims[-1], time_dim)
        for dim_in, dim_out in reversed(list(zip(dims[:-1], dims[1:]))):
            self.ups.append(
                nn.ModuleList(
                    [
                        nn.Sequential(
                            nn.Upsample(scale_factor=2, mode="nearest"),
                            nn.Conv2d(dim_out, dim_out, 3, padding=1),
                        ),
                        ResnetBlock(dim_out * 2, dim_in, time_dim),
                    ]
                )
            )
        self.final_conv = nn.Conv2d(dim, 1, 1)

    def forward(self, x, time):
        t = self.time_mlp(time)
        x = self.init_conv(x)
        skips = []
        for block, downsample in self.downs:
            x = block(x, t)
            skips.append(x)
            x = downsample(x)
        x = self.mid2(self.mid_attn(self.mid1(x, t)), t)
        for upsample, block in self.ups:
            x = block(torch.cat((upsample(x), skips.pop()), dim=1), t)
        return self.final_conv(x)


class Diffusion(nn.Module):
    def __init__(self, timesteps=100):
        super().__init__()
        self.timesteps = timesteps
        betas = self.cosine_beta_schedule(timesteps)
        alphas = 1.0 - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
        self.register_buffer("betas", betas)
        self.register_buffer("sqrt_recip_alphas", torch.sqrt(1.0 / alphas))
        self.register_buffer("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        self.register_buffer("sqrt_one_minus_alphas_cumprod", torch.sqrt(1.0 - alphas_cumprod))
        self.register_buffer(
            "posterior_variance", betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)
        )

    @staticmethod
    def cosine_beta_schedule(timesteps, s=0.008):
        x = torch.linspace(0, timesteps, timesteps + 1)
        alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * torch.pi * 0.5) ** 2
        alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
        return torch.clip(1 - (alphas_cumprod[1:] / alphas_cumprod[:-1]), 0.0001, 0.9999)

    @staticmethod
    def extract(a, t, x_shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))

    def loss(self, model, x_start, t):
        noise = torch.randn_like(x_start)
        x_noisy = (
            self.extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start
            + self.extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise
        )
        return F.smooth_l1_loss(model(x_noisy, t), noise)

    @torch.no_grad()
    def sample(self, model, shape):
        img = torch.randn(shape)
        for i in reversed(range(self.timesteps)):
            t = torch.full((shape[0],), i, dtype=torch.long)
            mean = self.extract(self.sqrt_recip_alphas, t, shape) * (
                img
                - self.extract(self.betas, t, shape)
                * model(img, t)
                / self.extract(self.sqrt_one_minus_alphas_cumprod, t, shape)
            )
            if i > 0:
                mean += torch.sqrt(
                    self.extract(self.posterior_variance, t, shape)
                ) * torch.randn_like(img)
            img = mean
        return img


class EMA:
    def __init__(self, beta):
        self.beta = beta

    @torch.no_grad()
    def update(self, averaged, model):
        for current, new in zip(averaged.parameters(), model.parameters()):
            current.mul_(self.beta).add_(new, alpha=1 - self.beta)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="one epoch, and 10 steps of sampling")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    images = torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.float32)[:, :64]) / 8 - 1
    loader = DataLoader(
        TensorDataset(images.reshape(-1, 1, 8, 8)), batch_size=64, shuffle=True, drop_last=True
    )
    model, diffusion = Unet(), Diffusion(10 if args.quick else 100)
    averaged, ema = (
        copy.deepcopy(model).eval().requires_grad_(False),
        EMA(0.9 if args.quick else 0.99),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    epochs = 1 if args.quick else args.epochs
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 2e-3, total_steps=epochs * len(loader)
    )
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    start = time.time()
    for epoch in range(epochs):
        total = 0.0
        for step, (batch,) in enumerate(loader):
            t = torch.randint(0, diffusion.timesteps, (batch.shape[0],)).long()
            loss = diffusion.loss(model, batch, t)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            ema.update(averaged, model)
            total += loss.item()
            if args.quick:
                print(f"step {step:3d} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.6f}")
        print(f"epoch {epoch + 1} mean loss {total / len(loader):.4f}")
    print(f"trained in {time.time() - start:.1f} s")
    for row in (
        diffusion.sample(averaged, (4, 1, 8, 8))
        .clamp(-1, 1)
        .squeeze(1)
        .permute(1, 0, 2)
        .reshape(8, 32)
    ):
        print("".join(" .:-=+*#%@"[min(int((v + 1) * 5), 9)] for v in row.tolist()))


if __name__ == "__main__":
    main()
