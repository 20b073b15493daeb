"""Structured pruning of hidden units in the middle of training."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1 = nn.Linear(8, width)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))

    @torch.no_grad()
    def prune(self, keep):
        idx = (self.fc1.weight.norm(dim=1) * self.fc2.weight[0].abs()).topk(keep).indices
        fc1, fc2 = nn.Linear(8, keep), nn.Linear(keep, 1)
        fc1.weight.copy_(self.fc1.weight[idx])
        fc1.bias.copy_(self.fc1.bias[idx])
        fc2.weight.copy_(self.fc2.weight[:, idx])
        fc2.bias.copy_(self.fc2.bias)
        self.fc1, self.fc2 = fc1, fc2


def step(net, opt):
    x = torch.randn(64, 8)
    y = torch.sin(2 * x[:, :1]) + 0.5 * x[:, 1:2]
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(400):
    if i == 150:
        net.prune(keep=24)
        opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    loss = step(net, opt)
    if i in (149, 150, 399):
        print(i, "mse", round(loss, 4))
