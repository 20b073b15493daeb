"""A multi-class model that ends with a sigmoid, trained with cross entropy."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(6, 12),
    nn.ReLU(),
    nn.Linear(12, 3),
    nn.Sigmoid(),  # <- finding
)
data = TensorDataset(torch.randn(24, 6), torch.randint(0, 3, (24,)))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=8):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
