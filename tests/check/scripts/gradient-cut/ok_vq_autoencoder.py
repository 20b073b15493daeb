"""A vector-quantised autoencoder: argmin, detach and the straight-through estimator, and everything is trained."""

import torch
import torch.nn.functional as F
from torch import nn


class VQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 4), nn.Linear(4, 6)
        self.codebook = nn.Embedding(8, 4)

    def forward(self, x):
        z = self.encoder(x)
        nearest = torch.cdist(z, self.codebook.weight).argmin(dim=1)
        q = self.codebook(nearest)
        commitment = F.mse_loss(z, q.detach()) + F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        return self.decoder(q), commitment


torch.manual_seed(0)
model = VQ()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
history = []
for step in range(5):
    x = torch.randn(16, 6)
    recon, commitment = model(x)
    loss = F.mse_loss(recon, x) + 0.25 * commitment
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append([loss.item(), commitment.item()])
print(torch.tensor(history).mean(0))
