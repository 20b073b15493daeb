import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 10)
y = (x[:, 0] * x[:, 1] > 0).float()
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 64)
        self.b = nn.Linear(64, 64)
        self.c = nn.Linear(64, 1)
    def forward(self, x):
        x = self.a(x).relu()
        x = self.b(x).relu()
        return self.c(x).squeeze(1)
net = M()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    for i in torch.randperm(300).split(30):
        loss = F.binary_cross_entropy_with_logits(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
