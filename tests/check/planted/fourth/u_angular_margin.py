"""Face-like identification with an angular margin head (ArcFace style)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

IDENTITIES, DIM = 12, 6


class AngularMarginLoss(nn.Module):
    def __init__(self, classes, dim, scale=8.0, margin=0.1):
        super().__init__()
        self.scale, self.margin = scale, margin
        self.centers = nn.Parameter(torch.randn(classes, dim))

    def similarity(self, z):
        return F.normalize(z, dim=1) @ F.normalize(self.centers, dim=1).T

    def forward(self, z, y):
        shift = self.margin * F.one_hot(y, len(self.centers))
        return F.cross_entropy(self.scale * (self.similarity(z) - shift), y)


class Encoder(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, DIM))


def faces(n, prototypes):
    y = torch.randint(0, len(prototypes), (n,))
    return prototypes[y] + 1.0 * torch.randn(n, 32), y


torch.manual_seed(0)
prototypes = torch.randn(IDENTITIES, 32)
x, y = faces(900, prototypes)
x_val, y_val = faces(200, prototypes)

encoder = Encoder()
criterion = AngularMarginLoss(IDENTITIES, DIM)
opt = torch.optim.Adam(encoder.parameters(), lr=5e-3)  # BUG param-not-in-optimizer
for step in range(150):
    idx = torch.randint(0, 900, (60,))
    loss = criterion(encoder(x[idx]), y[idx])
    encoder.zero_grad()
    criterion.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            acc = (criterion.similarity(encoder(x_val)).argmax(1) == y_val).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} val acc {acc:.3f}")
