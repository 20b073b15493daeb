import torch
import torch.nn as nn

torch.manual_seed(6)


class PairRanker(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 8))
        self.score = nn.Linear(8, 1)

    def forward(self, items):
        codes = [self.enc(it) for it in items]
        codes = torch.tensor([c.tolist() for c in codes])  # BUG gradient-cut
        return self.score(codes).squeeze(-1)


D = 10
good = torch.randn(D)


def quality(x):
    return torch.sin(x @ good) + 0.5 * x[..., 0] ** 2


model = PairRanker(D)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
first = model.enc[0].weight.detach().clone()
for step in range(200):
    a, b = torch.randn(32, D), torch.randn(32, D)
    want = torch.where(quality(a) > quality(b), 1.0, -1.0)
    loss = nn.functional.margin_ranking_loss(model(a), model(b), want, margin=0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, f"{loss.item():.4f}")
with torch.no_grad():
    a, b = torch.randn(500, D), torch.randn(500, D)
    acc = ((model(a) > model(b)) == (quality(a) > quality(b))).float().mean()
print(f"pair accuracy {acc:.3f}; encoder moved by {(model.enc[0].weight - first).abs().max():.4f}")
