import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(300, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
dl = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
te = DataLoader(TensorDataset(x[:150] + 0.01, y[:150]), batch_size=25)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for a, b in dl:
        opt.zero_grad()
        loss = F.cross_entropy(net(a), b)
        loss.backward()
        opt.step()
    correct = total = 0
    with torch.no_grad():
        for a, b in te:
            correct += (net(a).argmax(1) == b).sum().item()
            total += len(b)
    print(epoch, correct / total)
