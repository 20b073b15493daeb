import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 6)
y = 3 * x[:, :1] - x[:, 1:2]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return self.out(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for rows in torch.randperm(200).split(40):
        optimizer.zero_grad()
        loss = F.l1_loss(net(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
