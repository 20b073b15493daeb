"""log_softmax over the batch in front of nll_loss."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(7, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=0)  # <- finding


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(20, 7), torch.randint(0, 5, (20,))
for _ in range(4):
    optimizer.zero_grad()
    loss = F.nll_loss(net(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
