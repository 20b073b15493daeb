"""Frequency and amplitude of a vibration signal; a pretrained encoder stays fixed."""
import math

import torch
from torch import nn


class VibrationModel(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, width, 7, stride=2, padding=3), nn.GELU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2), nn.GELU(),
            nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        )
        self.frequency_head = nn.Linear(4 * width, 1)
        self.amplitude_head = nn.Linear(4 * width, 1)

    def forward(self, signal):
        z = self.encoder(signal)
        return torch.cat([self.frequency_head(z), self.amplitude_head(z)], dim=1)


def signals(n, length=64):
    freq, amp = 1 + 7 * torch.rand(n, 1), 0.5 + 1.5 * torch.rand(n, 1)
    t = torch.linspace(0, 1, length)
    wave = amp * torch.sin(2 * math.pi * freq * t + 6.28 * torch.rand(n, 1))
    target = torch.cat([(freq - 4.5) / 2, (amp - 1.25) / 0.43], dim=1)
    return (wave + 0.05 * torch.randn_like(wave)).unsqueeze(1), target


def train(model, x, y, steps, lr):
    params = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    for _ in range(steps):
        rows = torch.randint(len(x), (32,))
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(2)
x, y = signals(600)
model = VibrationModel()
print("pretrain", train(model, x, y, 80, 3e-3))

# a new sensor: other units for both targets, so both heads are fitted afresh
x_new, y_new = signals(400)
y_new = y_new * torch.tensor([2.0, 0.5]) + torch.tensor([1.0, -1.0])
x_val, y_val = x_new[300:], y_new[300:]
model.frequency_head.reset_parameters()
model.amplitude_head.reset_parameters()
for name, p in model.named_parameters():
    if name.startswith("encoder."):
        p.requires_grad_(False)
print("adapt", train(model, x_new[:300], y_new[:300], 120, 1e-2))
with torch.no_grad():
    print("val mse per target", (model(x_val) - y_val).pow(2).mean(0).tolist())
