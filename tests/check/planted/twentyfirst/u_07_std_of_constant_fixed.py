import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(128, 6)
X[:, 4] = 0.0
Y = X[:, :1] * 2


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Linear(6, 6, bias=False)
        with torch.no_grad():
            self.emb.weight.copy_(torch.eye(6))
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        h = self.emb(x)
        h = h - h.mean(0)
        h = h / (h.pow(2).mean(0) + 1e-6).sqrt()
        return self.out(h)


net = Scale()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for i in range(0, 128, 32):
    loss = F.mse_loss(net(X[i : i + 32]), Y[i : i + 32])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if not torch.isfinite(net.emb.weight).all():
        break
