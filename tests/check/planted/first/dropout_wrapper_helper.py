"""Graph convolution on a ring of communities with dropout on node features."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def drop(x, p=0.4, training=True):
    mask_shape = x.new_ones(x.shape[0], 1)
    return x * F.dropout(mask_shape, p, training)  # BUG functional-dropout-always-on


class GCN(nn.Module):
    def __init__(self, n_in, d, n_cls):
        super().__init__()
        self.w1, self.w2 = nn.Linear(n_in, d), nn.Linear(d, n_cls)

    def propagate(self, x, edges, deg):
        out = torch.zeros_like(x)
        out.index_add_(0, edges[1], x[edges[0]])
        return (out + x) / (deg + 1)

    def forward(self, x, edges, deg):
        x = drop(x)  # BUG functional-dropout-always-on
        x = F.relu(self.w1(self.propagate(x, edges, deg)))
        return self.w2(self.propagate(x, edges, deg))


def graph(n=240, k=3):
    y = torch.arange(n) % k
    src = torch.randint(0, n, (n * 6,))
    dst = (src + k * torch.randint(1, 20, (n * 6,)) + (torch.rand(n * 6) < 0.1).long()) % n
    x = F.one_hot(y, k).float() + 1.0 * torch.randn(n, k)
    deg = torch.zeros(n).index_add_(0, dst, torch.ones(len(dst)))[:, None]
    return x, y, torch.stack([src, dst]), deg


torch.manual_seed(0)
x, y, edges, deg = graph()
train = torch.rand(len(y)) < 0.4
net = GCN(3, 24, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(100):
    net.train()
    loss = F.cross_entropy(net(x, edges, deg)[train], y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    pred = net(x, edges, deg).argmax(1)
print("held-out node acc", (pred == y)[~train].float().mean().item())
