"""Denoising autoencoder for ECG-like beats: encoder and decoder are separate modules."""
import torch
from torch import nn

torch.manual_seed(14)


def beats(n, t=40):
    time = torch.linspace(0, 1, t)
    centre = 0.3 + 0.4 * torch.rand(n, 1)
    width = 0.03 + 0.05 * torch.rand(n, 1)
    sign = torch.randint(0, 2, (n, 1)) * 2.0 - 1.0
    clean = sign * torch.exp(-((time - centre) / width) ** 2)
    return clean + 0.15 * torch.randn(n, t), clean


encoder = nn.Sequential(nn.Linear(40, 32), nn.Tanh(), nn.Linear(32, 3))
decoder = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 40))
optimizer = torch.optim.Adam(decoder.parameters(), lr=4e-3)  # BUG param-not-in-optimizer

for step in range(600):
    noisy, clean = beats(64)
    loss = nn.functional.mse_loss(decoder(encoder(noisy)), clean)
    encoder.zero_grad()
    decoder.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 150 == 0:
        print(f"step {step + 1:4d} mse {loss.item():.4f}")

with torch.no_grad():
    noisy, clean = beats(500)
    err = nn.functional.mse_loss(decoder(encoder(noisy)), clean)
print(f"held-out mse {err:.4f}, explained {1 - err / clean.var():.3f}")
