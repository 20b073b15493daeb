import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class PairDataset(Dataset):
    def __init__(self, n=400, n_ids=8, seed=0):
        g = torch.Generator().manual_seed(seed)
        protos = torch.randn(n_ids, 12, generator=g)
        a = torch.randint(0, n_ids, (n,), generator=g)
        b = torch.where(torch.rand(n, generator=g) < 0.5, a, torch.randint(0, n_ids, (n,), generator=g))
        self.x1 = protos[a] + 0.3 * torch.randn(n, 12, generator=g)
        self.x2 = protos[b] + 0.3 * torch.randn(n, 12, generator=g)
        self.same = a == b

    def __len__(self):
        return len(self.same)

    def __getitem__(self, i):
        label = 1.0 if self.same[i] else -1.0
        return self.x1[i], self.x2[i], label


torch.manual_seed(0)
ds = PairDataset()
loader = DataLoader(ds, batch_size=40, shuffle=True)
encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
criterion = nn.CosineEmbeddingLoss(margin=0.2)
opt = torch.optim.Adam(encoder.parameters(), lr=5e-3)
for epoch in range(8):
    tot = 0.0
    for a, b, lab in loader:
        loss = criterion(encoder(a), encoder(b), lab.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
with torch.no_grad():
    sim = nn.functional.cosine_similarity(encoder(ds.x1), encoder(ds.x2))
print(f"loss {tot / len(loader):.4f}")
print(f"similarity same {sim[ds.same].mean().item():.3f} different {sim[~ds.same].mean().item():.3f}")
