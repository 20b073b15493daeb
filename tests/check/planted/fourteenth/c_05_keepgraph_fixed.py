import torch
from torch import nn
from collections import defaultdict

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self, d=40, k=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 64), nn.GELU(), nn.Linear(64, k))
        self.dec = nn.Sequential(nn.Linear(k, 64), nn.GELU(), nn.Linear(64, d))

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), z


class History:
    def __init__(self):
        self.rows = defaultdict(list)

    def log(self, **kw):
        for k, v in kw.items():
            self.rows[k].append(v)

    def mean(self, key, last):
        vals = [v.item() if torch.is_tensor(v) else v for v in self.rows[key][-last:]]
        return sum(vals) / len(vals)


def batches(x, bs):
    for idx in torch.randperm(len(x)).split(bs):
        yield x[idx]


basis = torch.randn(6, 40)
data = torch.tanh(torch.randn(800, 6) @ basis) + 0.05 * torch.randn(800, 40)
model = AutoEncoder()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
hist = History()

for epoch in range(10):
    steps = 0
    for xb in batches(data, 50):
        rec, z = model(xb)
        rec_loss = (rec - xb).pow(2).mean()
        reg = 1e-3 * z.pow(2).mean()
        loss = rec_loss + reg
        opt.zero_grad()
        loss.backward()
        opt.step()
        hist.log(loss=loss.item(), rec=rec_loss.detach(), reg=reg.item())
        steps += 1
    print(f"epoch {epoch} loss {hist.mean('loss', steps):.4f} rec {hist.mean('rec', steps):.4f}"
          f" reg {hist.mean('reg', steps):.5f}")

live = sum(1 for v in hist.rows["reg"] if torch.is_tensor(v) and v.grad_fn is not None)
print("final loss", round(hist.mean("loss", steps), 4), "graphs held", live)
