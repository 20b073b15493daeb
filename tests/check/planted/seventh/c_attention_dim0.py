import torch
import torch.nn as nn
import torch.nn.functional as F


class AttentionPool(nn.Module):
    """Scores every frame of a clip and takes the weighted mean."""

    def __init__(self, d):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 4)

    def forward(self, frames):                      # (batch, time, d)
        s = self.score(frames).squeeze(-1)          # (batch, time)
        a = F.softmax(s, dim=0)  # BUG softmax-wrong-dim
        pooled = (a.unsqueeze(-1) * frames).sum(1)
        return self.out(pooled), a


def clips(n, proto):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 12, 10)
    where = torch.randint(0, 12, (n,))
    x[torch.arange(n), where] = 3 * proto[y]
    x[torch.arange(n), where, -1] = 6.0
    return x, y


torch.manual_seed(8)
proto = torch.randn(4, 10)
x, y = clips(800, proto)
xt, yt = clips(200, proto)
net = AttentionPool(10)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(15):
    for b in torch.randperm(800).split(40):
        opt.zero_grad()
        logits, _ = net(x[b])
        F.cross_entropy(logits, y[b]).backward()
        opt.step()
with torch.no_grad():
    full, att = net(xt)
    alone = torch.cat([net(xt[i:i + 1])[0] for i in range(200)])
print("test accuracy, in one batch:", (full.argmax(1) == yt).float().mean().item())
print("test accuracy, one at a time:", (alone.argmax(1) == yt).float().mean().item())
print("attention of one clip sums to", att[0].sum().item())
