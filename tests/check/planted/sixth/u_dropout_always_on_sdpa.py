import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class Block(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
        self.p = p

    def forward(self, x):
        a = F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x), dropout_p=self.p)  # BUG functional-dropout-always-on|dropout-always-on
        return self.norm(x + a)


class SetClassifier(nn.Module):
    def __init__(self, d_in=4, d=24, p=0.5):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList([Block(d, p) for _ in range(2)])
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = b(h)
        return self.out(h.mean(1))


def sets(n):
    x = torch.randn(n, 6, 4)
    y = (x[:, :, 0].sum(1) > x[:, :, 1].sum(1)).long()
    return x, y


x, y = sets(500)
xt, yt = sets(300)
net = SetClassifier()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    net.train()
    for idx in torch.randperm(500).split(50):
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
with torch.no_grad():
    a, b = net(xt), net(xt)
print("loss", round(loss.item(), 3), "test acc", round((a.argmax(1) == yt).float().mean().item(), 3))
print("eval twice, largest difference", (a - b).abs().max().item())
