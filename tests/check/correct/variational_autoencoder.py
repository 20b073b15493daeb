"""A VAE: reparameterised samples, a sum of two losses, images sampled in eval mode, a running average of the loss for the log."""

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(36, 32), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(32, 4), nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 36))

    def forward(self, x):
        h = self.encoder(x.view(-1, 36))
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean) if self.training else mean
        return torch.sigmoid(self.decoder(z)), mean, log_variance


torch.manual_seed(0)
images = (torch.rand(64, 1, 6, 6) > 0.7).float()
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
smooth = None
for epoch in range(4):
    model.train()
    for x in images[torch.randperm(64)].split(16):
        recon, mean, log_variance = model(x)
        likelihood = F.binary_cross_entropy(recon, x.view(-1, 36), reduction="sum")
        divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = (likelihood + divergence) / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smooth = loss.detach() if smooth is None else 0.9 * smooth + 0.1 * loss.detach()
    print(epoch, float(smooth))
model.eval()
with torch.no_grad():
    print(torch.sigmoid(model.decoder(torch.randn(2, 4))).view(2, 6, 6).mean().item(), model(images)[0].mean().item())
