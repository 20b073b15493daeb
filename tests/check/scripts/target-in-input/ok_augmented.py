"""An autoencoder of images with a random brightness, whose gray levels are spread by uniform noise."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.rand(320, 1, 8, 8).mul(8).floor() / 8
loader = DataLoader(TensorDataset(images), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 64), nn.Unflatten(1, (1, 8, 8)))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for (batch,) in loader:
        if epoch % 2:
            batch = batch * (0.8 + 0.4 * torch.rand(len(batch), 1, 1, 1))
        else:
            batch = batch + torch.rand_like(batch) / 8
        optimizer.zero_grad()
        out = model(batch)
        loss = criterion(out, batch)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
