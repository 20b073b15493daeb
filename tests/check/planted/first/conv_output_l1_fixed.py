"""Denoise signals with a 1-D conv net."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Denoiser(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 7, padding=3), nn.GELU(),
            nn.Conv1d(ch, ch, 7, padding=3), nn.GELU(),
            nn.Conv1d(ch, 1, 7, padding=3))

    def forward(self, x):
        return self.net(x.unsqueeze(1))


def signals(n, T=48):
    t = torch.arange(T) * 0.3
    clean = torch.sin(t * (0.5 + torch.rand(n, 1)) + 6.28 * torch.rand(n, 1))
    return clean + 0.5 * torch.randn(n, T), clean


torch.manual_seed(0)
net = Denoiser()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(150):
    noisy, clean = signals(32)
    loss = F.smooth_l1_loss(net(noisy).squeeze(1), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    noisy, clean = signals(200)
    print("mse", F.mse_loss(net(noisy).squeeze(1), clean).item(), "noise", F.mse_loss(noisy, clean).item())
