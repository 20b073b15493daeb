"""The column of the target stays in the table."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
table = torch.randn(200, 6)
table[:, 5] = table[:, :5] @ torch.randn(5) + 0.5 * torch.randn(200)
features = table.clone()  # <- finding
price = table[:, -1:]
loader = DataLoader(TensorDataset(features, price), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for inputs, wanted in loader:
        loss = nn.functional.mse_loss(model(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
