from functools import lru_cache
import torch
import torch.nn as nn

torch.manual_seed(6)


def keep_mask(rows, cols, p):
    """Mask of kept features, scaled to preserve the mean."""
    return (torch.rand(rows, cols) > p).float() / (1 - p)


class DenoisingAE(nn.Module):
    def __init__(self, d=24, code=12, p=0.4):
        super().__init__()
        self.p = p
        self.enc = nn.Linear(d, code)
        self.dec = nn.Linear(code, d)

    def forward(self, x):
        noisy = x * keep_mask(*x.shape, self.p) if self.training else x
        return self.dec(torch.tanh(self.enc(noisy)))


basis = torch.randn(5, 24)
data = torch.randn(640, 5) @ basis / 2
ae = DenoisingAE()
opt = torch.optim.Adam(ae.parameters(), lr=1e-2)
masks = set()
for epoch in range(30):
    ae.train()
    for xb in data[:512].split(16):
        loss = nn.functional.mse_loss(ae(xb), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    before = keep_mask(16, 24, ae.p)
    masks.add(tuple(before.flatten().tolist()))
ae.eval()
holes = data[512:].clone()
holes[:, ::3] = 0
with torch.no_grad():
    print("train loss", round(loss.item(), 4), "imputation mse", round(nn.functional.mse_loss(ae(holes), data[512:]).item(), 4))
print("different masks in 30 epochs:", len(masks))
