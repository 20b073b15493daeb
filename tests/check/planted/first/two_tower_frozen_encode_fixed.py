"""Two-tower retrieval model trained with in-batch negatives."""
import torch
from torch import nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, n_items, dim=32, out=16):
        super().__init__()
        self.emb = nn.Embedding(n_items, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, out))

    def encode(self, ids):
        return F.normalize(self.mlp(self.emb(ids)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items):
        super().__init__()
        self.user = Tower(n_users)
        self.item = Tower(n_items)
        self.log_temp = nn.Parameter(torch.tensor(2.0))

    def forward(self, users, items):
        u = self.user.encode(users)
        v = self.item.encode(items)
        return u @ v.t() * self.log_temp.exp()


def batches(n_users, n_items, steps, gen):
    for _ in range(steps):
        users = torch.randperm(n_users, generator=gen)[:32]
        # every user likes the item with the same index
        yield users, users % n_items


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = TwoTower(100, 100)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step, (u, i) in enumerate(batches(100, 100, 150, gen)):
        logits = model(u, i)
        target = torch.arange(len(u))
        loss = F.cross_entropy(logits, target)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(step, round(loss.item(), 3))
    with torch.no_grad():
        ids = torch.arange(100)
        hit = (model(ids, ids).argmax(1) == ids).float().mean()
    print(f"recall@1: {hit:.3f}")


if __name__ == "__main__":
    main()
