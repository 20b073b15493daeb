import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Sim(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(8, 16)

    def forward(self, q, d):
        q, d = F.normalize(self.a(q), dim=-1), F.normalize(self.b(d), dim=-1)
        scores = torch.einsum("bqc,ndc->bnqd", q, d).amax(-1).sum(-1)
        return scores / 0.1


net = Sim()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
g = torch.Generator().manual_seed(0)
for it in range(40):
    base = torch.randn(16, 1, 8, generator=g)
    q = base + 0.3 * torch.randn(16, 4, 8, generator=g)
    d = base + 0.3 * torch.randn(16, 6, 8, generator=g)
    loss = F.cross_entropy(net(q, d), torch.arange(16))
    opt.zero_grad()
    loss.backward()
    opt.step()
