import torch
import torch.nn as nn
import torch.nn.functional as F


class Lookahead:
    """k fast steps forward, then one slow step toward the result."""

    def __init__(self, base, k=6, alpha=0.4):
        self.base, self.k, self.alpha = base, k, alpha
        self.count = 0
        self.slow = []
        for group in base.param_groups:
            self.slow.append([p.detach().clone() for p in group["params"]])

    @property
    def param_groups(self):
        return self.base.param_groups

    def zero_grad(self):
        self.base.zero_grad()

    @torch.no_grad()
    def step(self):
        self.base.step()
        self.count += 1
        if self.count % self.k:
            return
        for group, slow in zip(self.base.param_groups, self.slow):
            for p, s in zip(group["params"], slow):
                s.add_(p - s, alpha=self.alpha)
                p.copy_(s)


class Net(nn.Module):
    def __init__(self, d, h, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.head = nn.Linear(h, n)

    def forward(self, x):
        return self.head(self.body(x))


def build_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    W = torch.randn(15, 4, generator=torch.Generator().manual_seed(50))
    x = torch.randn(n, 15, generator=g)
    y = (x @ W + 2.0 * torch.randn(n, 4, generator=g)).argmax(1)
    return x, y


def main():
    torch.manual_seed(0)
    x, y = build_data(1000, 1)
    xv, yv = build_data(1000, 2)
    net = Net(15, 48, 4)
    opt = Lookahead(torch.optim.SGD(net.parameters(), lr=0.25, momentum=0.8))
    val = []
    for epoch in range(10):
        net.train()
        for idx in torch.randperm(len(x)).split(16):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            val.append(F.cross_entropy(net(xv), yv).item())
        print(f"epoch {epoch} val {val[-1]:.4f}")
    print(f"final val {sum(val[-5:]) / 5:.4f} over the last five epochs")


main()
