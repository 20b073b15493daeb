import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
train = DataLoader(TensorDataset(X[:200], Y[:200]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(X[200:], Y[200:]), batch_size=32)
for epoch in range(3):
    net.train()
    for x, y in train:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    correct = 0
    with torch.no_grad():
        for x, y in val:
            correct += (net(x).argmax(1) == y).sum().item()
    print(epoch, correct / (len(val) * 32))  # BUG accuracy-denominator|partial-batch-mean
