import contextlib

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(44)


@contextlib.contextmanager
def fresh_gradients(optimizer):  # BUG zero-between-backward-and-step
    try:
        yield  # BUG zero-between-backward-and-step
    finally:  # BUG zero-between-backward-and-step
        optimizer.zero_grad()  # BUG zero-between-backward-and-step


class Denoiser(nn.Module):
    def __init__(self, n=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, n))

    def forward(self, x):
        return x + self.net(x)


def waves(count, n=20):
    phase, freq = torch.rand(count, 1) * 6.28, torch.rand(count, 1) + 0.5
    clean = torch.sin(freq * torch.linspace(0, 6, n) + phase)
    return clean + 0.4 * torch.randn(count, n), clean


noisy, clean = waves(800)
val_noisy, val_clean = waves(200)
model = Denoiser()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)

for epoch in range(10):
    model.train()
    for idx in torch.randperm(800).split(40):
        with fresh_gradients(optimizer):  # BUG zero-between-backward-and-step
            loss = F.mse_loss(model(noisy[idx]), clean[idx])
            loss.backward()
        optimizer.step()  # BUG zero-between-backward-and-step
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(val_noisy), val_clean).item()
    print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f} (noise {F.mse_loss(val_noisy, val_clean).item():.4f})")
