import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))
    def forward(self, x):
        return F.normalize(self.f(x), dim=0)  # <- finding

net = Enc()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
data = torch.randn(256, 10)
for it in range(30):
    i = torch.randint(0, 256, (32,))
    a = data[i] + 0.1 * torch.randn(32, 10)
    b = data[i] + 0.1 * torch.randn(32, 10)
    logits = net(a) @ net(b).T / 0.2
    loss = F.cross_entropy(logits, torch.arange(32))
    opt.zero_grad()
    loss.backward()
    opt.step()
