"""The functional forms with the mode passed on."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        x = F.dropout(F.relu(self.inp(x)), 0.5, self.training)
        q = x.view(1, 1, -1, 8)
        x = x + F.scaled_dot_product_attention(q, q, q, dropout_p=0.1 if self.training else 0.0).view(-1, 8)
        return self.out(x)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(24, 4), torch.randint(0, 2, (24,))
for epoch in range(3):
    net.train()
    loss = F.cross_entropy(net(x[:16]), y[:16])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        print(epoch, F.cross_entropy(net(x[16:]), y[16:]).item())
