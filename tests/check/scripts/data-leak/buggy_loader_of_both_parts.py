"""The training loader gives both parts."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(300, 10)
y = (x[:, 0] > 0).long()
full = TensorDataset(x, y)
train_set, val_set = random_split(full, [240, 60])
loader = DataLoader(ConcatDataset([train_set, val_set]), batch_size=40, shuffle=True)  # <- finding
val_loader = DataLoader(val_set, batch_size=30)
net = nn.Linear(10, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for a, b in loader:
        loss = F.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print("val", sum((net(a).argmax(1) == b).sum().item() for a, b in val_loader) / 60)
    net.train()
