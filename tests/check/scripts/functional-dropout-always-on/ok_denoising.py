"""A denoising autoencoder corrupts its input in the training loop only; the first word dropout is for training too."""

import torch
import torch.nn.functional as F
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(4, 8)

    def forward(self, x):
        if self.training:
            x = F.dropout(x, 0.1)
        return self.decoder(torch.relu(self.encoder(x)))


torch.manual_seed(0)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.rand(32, 8)
for step in range(5):
    model.train()
    corrupted = F.dropout(x, p=0.3)
    loss = F.mse_loss(model(corrupted), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        print(step, loss.item(), F.mse_loss(model(x), x).item())
