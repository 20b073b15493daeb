"""The same with batch_first=True."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(96, 7, 3)
y = (x[:, :, 0].sum(1) > 0).long()
gru, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=1e-2)
for rows, labels in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
    optimizer.zero_grad()
    out, _ = gru(rows)
    loss = nn.functional.cross_entropy(head(out[:, -1]), labels)
    loss.backward()
    optimizer.step()
print(loss.item())
