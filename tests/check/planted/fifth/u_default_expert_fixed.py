"""A mixture of experts in which every expert has its own final layer."""
import torch
from torch import nn

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, dim, readout=None):
        super().__init__()
        self.inner = nn.Linear(dim, 16)
        self.readout = readout
        if self.readout is None:
            self.readout = nn.Linear(16, 1, bias=False)

    def forward(self, x):
        return self.readout(self.inner(x).clamp(-1, 1))


class Mixture(nn.Module):
    def __init__(self, dim, k):
        super().__init__()
        self.experts = nn.ModuleList(Expert(dim) for _ in range(k))

    def forward(self, x, which):
        out = torch.cat([e(x) for e in self.experts], 1)
        return out.gather(1, which[:, None]).squeeze(1)


K = 4
slopes = torch.randn(K, 5)
level = torch.tensor([0.05, 1.0, 10.0, -40.0])
net = Mixture(5, K)
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for step in range(400):
    x, which = torch.randn(128, 5), torch.randint(0, K, (128,))
    y = (x * slopes[which]).sum(1).tanh() * level[which]
    loss = ((net(x, which) - y) / level[which]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, round(loss.item(), 4))
print("loss", round(loss.item(), 4))
print("readout matrices", len({e.readout.weight.data_ptr() for e in net.experts}), "of", K)
