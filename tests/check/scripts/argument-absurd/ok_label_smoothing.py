import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(300, 8)
y = (x[:, :3]).argmax(1)
dl = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
crit = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(5):
    for a, b in dl:
        opt.zero_grad()
        crit(net(a), b).backward()
        opt.step()
