import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(6, 16)
        self.log_t = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, y):
        x, y = F.normalize(self.a(x), dim=1), F.normalize(self.b(y), dim=1)
        return x @ y.T * self.log_t.exp()


net = Clip()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
g = torch.Generator().manual_seed(0)
for it in range(30):
    z = torch.randn(24, 6, generator=g)
    x = torch.cat([z, torch.randn(24, 2, generator=g)], 1)
    logits = net(x, z)
    labels = torch.arange(24)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
