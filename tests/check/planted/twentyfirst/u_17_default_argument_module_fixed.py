import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Tower(nn.Module):
    def __init__(self, width, norm=None):
        super().__init__()
        self.fc = nn.Linear(width, 16)
        self.norm = norm or nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(torch.relu(self.fc(x)))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = Tower(8), Tower(6)

    def forward(self, u, v):
        return (self.user(u) * self.item(v)).sum(1)


u, v = torch.randn(256, 8), torch.randn(256, 6)
y = (u[:, 0] * v[:, 0] > 0).float()
net = Two()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for i in range(0, 256, 32):
        loss = F.binary_cross_entropy_with_logits(net(u[i : i + 32], v[i : i + 32]), y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
