import torch
import torch.nn as nn

torch.manual_seed(0)
D = 5


def make(n):
    lengths = torch.randint(2, 9, (n,))
    x = torch.randn(n, 8, D)
    mask = torch.arange(8)[None] < lengths[:, None]
    y = x[..., 0] - 2 * x[..., 1]
    y[~mask] = float("nan")  # padding has no target
    return x, y, mask


def masked_mse(pred, y, mask):
    safe = torch.where(mask, y, torch.zeros_like(y))
    err = (pred - safe).pow(2) * mask
    return err.sum() / mask.sum()


net = nn.Sequential(nn.Linear(D, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(200):
    x, y, m = make(32)
    loss = masked_mse(net(x).squeeze(-1), y, m)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 49:
        print(it + 1, round(loss.item(), 4))
