"""Which of five machines is running? A learned filter, then the magnitude spectrum."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 64


class SpectralNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.filter = nn.Conv1d(1, 4, kernel_size=9, padding=4)
        self.head = nn.Linear(4 * (LENGTH // 2 + 1), classes)

    def spectrum(self, h):
        magnitude = np.abs(np.fft.rfft(h.detach().numpy(), axis=-1))  # BUG gradient-cut
        return torch.log1p(torch.as_tensor(magnitude, dtype=torch.float32))

    def forward(self, wave):
        h = torch.tanh(self.filter(wave.unsqueeze(1)))
        return self.head(self.spectrum(h).flatten(1))


def recordings(n, rng):
    machine = rng.integers(0, 5, n)
    t = np.arange(LENGTH) / LENGTH
    tone = np.sin(2 * math.pi * (6 + 3 * machine[:, None]) * t + rng.uniform(0, 6, (n, 1)))
    hum = 1.5 * np.sin(2 * math.pi * 2 * t + rng.uniform(0, 6, (n, 1)))
    wave = 0.5 * tone + hum + 0.8 * rng.normal(size=(n, LENGTH))
    return torch.from_numpy(wave).float(), torch.from_numpy(machine)


torch.manual_seed(0)
rng = np.random.default_rng(0)
wave, machine = recordings(500, rng)
wave_test, machine_test = recordings(200, rng)
net = SpectralNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(100):
    rows = torch.randint(len(wave), (50,))
    loss = F.cross_entropy(net(wave[rows]), machine[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 24:
        print(f"step {step + 1} loss {loss.item():.3f}")
with torch.no_grad():
    print("test accuracy", (net(wave_test).argmax(1) == machine_test).float().mean().item())
