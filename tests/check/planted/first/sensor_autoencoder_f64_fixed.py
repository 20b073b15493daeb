"""Denoising autoencoder for sensor frames coming from NumPy."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(7)
torch.manual_seed(7)
basis = rng.normal(size=(4, 20))
clean = rng.normal(size=(600, 4)) @ basis
noisy = clean + 0.3 * rng.normal(size=clean.shape)


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 32), nn.ELU(), nn.Linear(32, 4))
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ELU(), nn.Linear(32, 20))

    def forward(self, x):
        return self.dec(self.enc(x))


x_all = torch.tensor(noisy, dtype=torch.float32)
y_all = torch.from_numpy(clean).float()
model = AE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    for idx in torch.randperm(500).split(50):
        err = model(x_all[idx]) - y_all[idx]
        loss = (err ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    val = (model(x_all[500:]) - y_all[500:]).pow(2).mean().item()
print(f"val mse {val:.3f}, variance {clean.var():.3f}")
