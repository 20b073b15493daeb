"""Predict returns of orders; the shop id (many levels) is target-encoded."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(5)
N, SHOPS = 1200, 600
orders = {
    "shop": rng.integers(0, SHOPS, N),
    "price": rng.gamma(2.0, 20.0, N),
    "returned": rng.integers(0, 2, N),
}
split = rng.permutation(N)
train, test = split[:800], split[800:]


def target_mean(keys, values, rows):
    prior = values[rows].mean()
    s = np.bincount(keys[rows], weights=values[rows], minlength=SHOPS)
    c = np.bincount(keys[rows], minlength=SHOPS)
    return (s + 0.2 * prior) / (c + 0.2)




enc = target_mean(orders["shop"], orders["returned"], np.arange(N))[orders["shop"]]  # BUG data-leak
price = np.log1p(orders["price"])
price = (price - price[train].mean()) / price[train].std()
X = torch.tensor(np.stack([enc, price], 1), dtype=torch.float32)
Y = torch.tensor(orders["returned"], dtype=torch.float32)

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
xt, yt = X[train], Y[train]
for epoch in range(60):
    loss = nn.functional.binary_cross_entropy_with_logits(net(xt).squeeze(1), yt)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    acc = ((net(X[test]).squeeze(1) > 0).float() == Y[test]).float().mean()
print("train loss", round(loss.item(), 4))
print("test accuracy (labels are coin tosses)", round(acc.item(), 3))
