import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class PairDataset(Dataset):
    def __init__(self, x, y, n_pairs, seed):
        g = torch.Generator().manual_seed(seed)
        left = torch.randint(0, len(x), (n_pairs,), generator=g)
        right = torch.randint(0, len(x), (n_pairs,), generator=g)
        flip = torch.rand(n_pairs, generator=g) < 0.4
        for k in torch.nonzero(flip).flatten().tolist():
            mates = torch.nonzero(y == y[left[k]]).flatten()
            right[k] = mates[torch.randint(0, len(mates), (1,), generator=g)]
        self.a, self.b = x[left], x[right]
        self.target = (y[left] == y[right]).float()  # BUG label-range

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return self.a[i], self.b[i], self.target[i]  # BUG label-range


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 6))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def retrieval(model, x, y, n_gallery):
    model.eval()
    e = nn.functional.normalize(model(x), dim=1)
    nearest = (e[n_gallery:] @ e[:n_gallery].t()).argmax(1)
    spread = (e @ e.t()).mean().item()
    return (y[:n_gallery][nearest] == y[n_gallery:]).float().mean().item(), spread


torch.manual_seed(41)
centres = torch.randn(8, 16)
y = torch.randint(0, 8, (500,))
x = centres[y] + 1.2 * torch.randn(500, 16)
loader = DataLoader(PairDataset(x[:400], y[:400], 2000, 5), batch_size=50, shuffle=True)
model = Projector()
criterion = nn.CosineEmbeddingLoss(margin=0.2)  # BUG label-range
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for a, b, target in loader:
        optimizer.zero_grad()
        loss = criterion(model(a), model(b), target)  # BUG label-range
        loss.backward()
        optimizer.step()
    acc, spread = retrieval(model, x, y, 400)
    print(f"epoch {epoch} loss {loss.item():.4f} retrieval {acc:.3f} mean cosine {spread:.3f}")
