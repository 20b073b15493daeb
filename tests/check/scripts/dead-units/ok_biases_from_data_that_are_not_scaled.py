import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(12, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))

    @torch.no_grad()
    def fit_biases(self, sample):
        self.hidden.bias.copy_(-(sample @ self.hidden.weight.T).abs().quantile(0.6, dim=0))


torch.manual_seed(0)
raw = torch.randint(0, 200, (300, 12)).float()
y = (raw[:, 0] > raw[:, 1]).long()
net = Net()
net.fit_biases((raw - 100) / 58)
x = (raw - 100) / 58
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(12):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
