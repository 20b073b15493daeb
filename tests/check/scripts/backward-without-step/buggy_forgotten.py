"""optimizer.step() is missing."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 6), torch.randint(0, 4, (64,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()  # <- finding
        total += loss.item()
    print(epoch, total / len(loader))
