import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(120, 8)
y = (torch.rand(120) < 0.2).long()
rare = (y == 1).nonzero().squeeze(1).repeat(4)
rows = torch.cat([torch.arange(120), rare])

train, test = random_split(TensorDataset(x, y), [0.7, 0.3])
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for xb, yb in DataLoader(train, 32, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
x_test, y_test = test[:]
print("test", (net(x_test).argmax(1) == y_test).float().mean().item())
