import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class Ratings(Dataset):
    """Film ratings between 0 and 1."""

    def __init__(self, n=500):
        g = torch.Generator().manual_seed(0)
        self.users = torch.randint(0, 30, (n,), generator=g)
        self.items = torch.randint(0, 40, (n,), generator=g)
        bu = torch.rand(30, generator=g)
        bi = torch.rand(40, generator=g)
        scores = 0.5 * bu[self.users] + 0.5 * bi[self.items]
        self.scores = scores.float()

    def __len__(self):
        return len(self.scores)

    def __getitem__(self, i):
        return self.users[i], self.items[i], self.scores[i].float()


class MF(nn.Module):
    def __init__(self, nu, ni, k=8):
        super().__init__()
        self.u, self.i = nn.Embedding(nu, k), nn.Embedding(ni, k)
        self.bu, self.bi = nn.Embedding(nu, 1), nn.Embedding(ni, 1)
        for table in (self.u, self.i, self.bu, self.bi):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, u, i):
        dot = (self.u(u) * self.i(i)).sum(1)
        return dot + self.bu(u).squeeze(1) + self.bi(i).squeeze(1)


torch.manual_seed(0)
ds = Ratings()
dl = DataLoader(ds, batch_size=50, shuffle=True)
model = MF(30, 40)
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(10):
    tot = 0.0
    for u, i, r in dl:
        loss = nn.functional.mse_loss(model(u, i), r)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    print(f"epoch {epoch} mse {tot / len(dl):.4f} mean rating {ds.scores.float().mean().item():.3f}")
