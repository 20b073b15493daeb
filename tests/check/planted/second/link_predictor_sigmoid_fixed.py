"""Graph autoencoder for link prediction with negative sampling."""
import torch
from torch import nn
import torch.nn.functional as F


class InnerProduct(nn.Module):
    def forward(self, z, pairs):
        score = (z[pairs[0]] * z[pairs[1]]).sum(1)
        return score


class GAE(nn.Module):
    def __init__(self, n, d=16):
        super().__init__()
        self.emb = nn.Embedding(n, d)
        self.lin = nn.Linear(d, d)
        self.decode = InnerProduct()

    def encode(self, edges, deg):
        h = self.emb.weight
        agg = torch.zeros_like(h).index_add(0, edges[1], h[edges[0]]) / deg
        return self.lin(h + agg)


def communities(n=90, k=3, m=900):
    src = torch.randint(0, n, (m,))
    dst = (src + k * torch.randint(1, n // k, (m,))) % n
    cross = torch.rand(m) < 0.05
    dst = torch.where(cross, torch.randint(0, n, (m,)), dst)
    return torch.stack([src, dst])


torch.manual_seed(0)
n = 90
edges = communities(n)
train, test = edges[:, :700], edges[:, 700:]
deg = torch.bincount(train[1], minlength=n).clamp(min=1).float()[:, None]
model = GAE(n)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(150):
    z = model.encode(train, deg)
    neg = torch.randint(0, n, (2, train.shape[1]))
    out = torch.cat([model.decode(z, train), model.decode(z, neg)])
    y = torch.cat([torch.ones(train.shape[1]), torch.zeros(neg.shape[1])])
    loss = F.binary_cross_entropy_with_logits(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    z = model.encode(train, deg)
    pos, neg = model.decode(z, test), model.decode(z, torch.randint(0, n, (2, 200)))
    auc = (pos[:, None] > neg[None]).float().mean()
print("loss", loss.item(), "auc", auc.item())
