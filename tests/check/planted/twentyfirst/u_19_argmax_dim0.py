import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)

net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    net.train()
    for i in range(0, 192, 32):
        loss = F.cross_entropy(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    hits = 0
    with torch.no_grad():
        for i in range(192, 256, 3):
            x, y = X[i : i + 3], Y[i : i + 3]
            pred = net(x).argmax(
                0
            )  # BUG class-dim-misplaced|softmax-wrong-dim|scores-compared|accuracy-denominator
            hits += (pred[: len(y)] == y).sum().item()
    acc = hits / 64
    print(acc)
