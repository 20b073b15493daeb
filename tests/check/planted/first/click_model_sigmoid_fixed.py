"""Click-through prediction with a wide-and-deep model."""
import torch
from torch import nn


class WideDeep(nn.Module):
    def __init__(self, n_users=50, n_items=50, d=8):
        super().__init__()
        self.u = nn.Embedding(n_users, d)
        self.i = nn.Embedding(n_items, d)
        self.wide = nn.Linear(4, 1)
        self.deep = nn.Sequential(nn.Linear(2 * d, 32), nn.ReLU(), nn.Linear(32, 1))
        self.out = nn.Identity()

    def forward(self, users, items, ctx):
        deep = self.deep(torch.cat([self.u(users), self.i(items)], dim=1))
        return self.out(deep + self.wide(ctx))


def impressions(n, gu, gi):
    u = torch.randint(0, 50, (n,))
    i = torch.randint(0, 50, (n,))
    ctx = torch.randn(n, 4)
    z = 2 * gu[u] * gi[i] + ctx[:, 0] - 1
    return u, i, ctx, (torch.rand(n) < torch.sigmoid(2 * z)).float().unsqueeze(1)


def main():
    torch.manual_seed(0)
    gu, gi = torch.randn(50), torch.randn(50)
    model = WideDeep()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.BCEWithLogitsLoss()
    for step in range(300):
        u, i, ctx, y = impressions(128, gu, gi)
        loss = criterion(model(u, i, ctx), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("bce", loss.item())


main()
