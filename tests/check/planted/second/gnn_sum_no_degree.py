"""Message passing on random graphs: predict a node's two-hop mean."""
import torch
import torch.nn as nn


class MPLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)

    def forward(self, h, src, dst, deg):
        agg = torch.zeros_like(h).index_add_(0, dst, h[src])
        return h + torch.relu(self.lin(agg))  # BUG exploding-gradient


class GNN(nn.Module):
    def __init__(self, d=16, depth=8):
        super().__init__()
        self.inp = nn.Linear(2, d)
        self.layers = nn.ModuleList(MPLayer(d) for _ in range(depth))
        self.out = nn.Linear(d, 1)

    def forward(self, x, src, dst, deg):
        h = self.inp(x)
        for layer in self.layers:
            h = layer(h, src, dst, deg)
        return self.out(h).squeeze(-1)


def graph(n=80, k=12):
    src = torch.arange(n).repeat_interleave(k)
    dst = torch.randint(0, n, (n * k,))
    deg = torch.bincount(dst, minlength=n).clamp(min=1).float()[:, None]
    x = torch.randn(n, 2)
    nb = torch.zeros_like(x).index_add_(0, dst, x[src]) / deg
    return x, src, dst, deg, 3 * nb[:, 0] + x[:, 1]


torch.manual_seed(0)
net = GNN()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
hist = []
for step in range(150):
    x, src, dst, deg, y = graph()
    loss = nn.functional.mse_loss(net(x, src, dst, deg), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    hist.append(loss.item())
print(f"mse {hist[0]:.4g} -> {sum(hist[-20:]) / 20:.4g} (variance about 1.9)")
