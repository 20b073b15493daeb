"""Targets come out of a DataLoader without the last axis."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
data = TensorDataset(torch.randn(48, 6), torch.randn(48))
net = nn.Linear(6, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for inputs, targets in DataLoader(data, batch_size=16, shuffle=True):
    predictions = net(inputs)
    loss = F.smooth_l1_loss(predictions, targets)  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.3f}")
