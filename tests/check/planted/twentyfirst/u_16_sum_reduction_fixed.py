import torch
import torch.nn as nn

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.5)
crit = nn.CrossEntropyLoss()
for epoch in range(4):
    for i in range(0, 256, 64):
        loss = crit(net(X[i : i + 64]), Y[i : i + 64])
        opt.zero_grad()
        loss.backward()
        opt.step()
