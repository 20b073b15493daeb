"""Remember the first input of a sequence with a linear-scan recurrent cell."""
import torch
from torch import nn


class Scan(nn.Module):
    def __init__(self, hidden=16, nonlinearity="tanh"):  # BUG exploding-gradient
        super().__init__()
        self.inp = nn.Linear(1, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.rec.weight, gain=nn.init.calculate_gain(nonlinearity))  # BUG exploding-gradient

    def forward(self, seq):
        h = seq.new_zeros(seq.size(0), self.rec.in_features)
        for t in range(seq.size(1)):
            h = self.rec(h) + self.inp(seq[:, t])
        return self.out(h)


torch.manual_seed(8)
net = Scan()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(120):
    seq = torch.randn(64, 50, 1) * 0.3
    target = seq[:, 0] + seq[:, -1]
    loss = nn.functional.mse_loss(net(seq), target)
    opt.zero_grad()
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
    opt.step()
    if step % 30 == 0:
        print(f"{step:3d} loss {loss.item():.3e} gradient norm {norm.item():.3e}")
print(f"last loss {loss.item():.3e}")
