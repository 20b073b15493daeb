"""Settings in a dictionary."""

import torch
from torch import nn

CONFIG = {"lr": 5e-3, "weight_decay": 1e-4, "batch": 25, "epochs": 5}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).mean(-1))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=CONFIG["lr"], weight_decay=CONFIG["weight_decay"])
x = torch.randn(100, 2, 12)
y = (x[:, 0].mean(1) > x[:, 1].mean(1)).long()
for epoch in range(CONFIG["epochs"]):
    for xb, yb in zip(x.split(CONFIG["batch"]), y.split(CONFIG["batch"])):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
print("loss", round(loss.item(), 3), "weights", round(net.fc.weight.abs().max().item(), 2))
