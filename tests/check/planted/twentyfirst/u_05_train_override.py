import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(32, 3)

    def train(self, mode=True):
        super().train(False)  # BUG train-in-eval-mode|eval-in-train-mode
        return self

    def forward(self, x):
        return self.head(self.drop(self.stem(x)))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    net.train()
    for i in range(0, 192, 32):
        loss = F.cross_entropy(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(X[192:]).argmax(1) == Y[192:]).float().mean().item()
    print(acc)
