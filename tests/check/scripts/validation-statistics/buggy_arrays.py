"""Arrays are standardized where they are made, each by itself."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
train_x, test_x = rng.normal(2, 3, (60, 3)), rng.normal(4, 3, (20, 3))
train_y = train_x.sum(1)
train_x = (train_x - train_x.mean(axis=0)) / train_x.std(axis=0)
test_x = (test_x - test_x.mean(axis=0)) / test_x.std(axis=0)  # <- finding
inputs, target = torch.tensor(train_x).float(), torch.tensor(train_y).float()
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs).squeeze(1), target)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(model(torch.tensor(test_x).float()).mean().item())
