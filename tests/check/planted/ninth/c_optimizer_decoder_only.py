# An autoencoder for sensor readings
import torch
from torch import nn


class AutoEncoder(nn.Module):
    def __init__(self, d=16, z=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 24), nn.Tanh(), nn.Linear(24, z))
        self.decoder = nn.Sequential(nn.Linear(z, 24), nn.Tanh(), nn.Linear(24, d))

    def forward(self, x):
        return self.decoder(self.encoder(x))


torch.manual_seed(8)
latent = torch.randn(300, 3)
readings = torch.tanh(latent @ torch.randn(3, 16))
model = AutoEncoder()
optimizer = torch.optim.Adam([
    {"params": model.decoder.parameters(), "lr": 5e-3},  # BUG param-not-in-optimizer
])
for epoch in range(10):
    for batch in readings.split(50):
        loss = ((model(batch) - batch) ** 2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
print(loss.item())
