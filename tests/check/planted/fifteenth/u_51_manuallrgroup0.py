"""Discriminative learning rates with a hand-written polynomial decay."""
import torch
from torch import nn


class PolyDecay:
    def __init__(self, optimizer, total, power=0.9):
        self.optimizer, self.total, self.power = optimizer, total, power
        self.base = [g["lr"] for g in optimizer.param_groups]
        self.count = 0

    def step(self):
        self.count += 1
        factor = (1 - self.count / (self.total + 1)) ** self.power
        self.optimizer.param_groups[0]["lr"] = self.base[0] * factor  # BUG lr-absurd


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
x = torch.randn(800, 12)
y = (x @ torch.randn(12, 4) + torch.randn(800, 4)).argmax(1)
net = Net()
opt = torch.optim.SGD(
    [{"params": net.body.parameters(), "lr": 0.02}, {"params": net.head.parameters(), "lr": 0.2}], lr=0.02, momentum=0.9
)
epochs = 5
decay = PolyDecay(opt, epochs * 20)
for epoch in range(epochs):
    total = 0.0
    for idx in torch.randperm(800).split(40):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        decay.step()  # BUG lr-absurd
        total += loss.item()
    print(epoch, total / 20)
