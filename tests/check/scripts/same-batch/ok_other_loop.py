import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(300, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
dl = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
te = DataLoader(TensorDataset(torch.randn(90, 8), torch.randint(0, 2, (90,))), batch_size=30)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for xb, yb in dl:
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    val = 0.0
    with torch.no_grad():
        for xv, yv in te:
            val += F.cross_entropy(net(xv), yv).item()
    print(epoch, val / len(te))
