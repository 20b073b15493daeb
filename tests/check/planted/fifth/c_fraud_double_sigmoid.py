"""Card fraud scorer."""
import torch
import torch.nn as nn


class FraudScorer(nn.Module):
    def __init__(self, n_in, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return torch.sigmoid(self.head(self.body(x))).squeeze(-1)  # BUG sigmoid-before-bce-logits

    @torch.no_grad()
    def score(self, x):
        return self(x)  # BUG sigmoid-before-bce-logits


def transactions(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    y = ((x[:, 0] * x[:, 1] + x[:, 2] - 2.0) > 0).float()
    return x, y


torch.manual_seed(3)
x, y = transactions(2000, 0)
xt, yt = transactions(1000, 1)
model = FraudScorer(10)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
crit = nn.BCEWithLogitsLoss()  # BUG sigmoid-before-bce-logits
print(f"fraud rate {y.mean():.3f}")

for step in range(300):
    idx = torch.randint(0, len(x), (128,))
    loss = crit(model(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 59:
        print(f"step {step + 1}: loss {loss.item():.4f}")

p = model.score(xt)
eps = 1e-7
ll = -(yt * (p + eps).log() + (1 - yt) * (1 - p + eps).log()).mean()
flag = p > 0.5
recall = (flag & (yt == 1)).sum() / yt.sum()
print(f"held-out log loss {ll:.4f}  mean score {p.mean():.3f}  recall {recall:.3f}")
