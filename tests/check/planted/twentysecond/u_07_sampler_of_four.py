import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

from torch.utils.data.distributed import DistributedSampler

ds = TensorDataset(X, Y)
sampler = DistributedSampler(ds, num_replicas=4, rank=0)  # BUG samples-missing
loader = DataLoader(ds, batch_size=16, sampler=sampler)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
