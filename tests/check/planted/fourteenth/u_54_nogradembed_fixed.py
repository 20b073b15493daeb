import torch
import torch.nn as nn
import torch.nn.functional as F


class TripletModel(nn.Module):
    def __init__(self, d=30, h=64, e=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h))
        self.project = nn.Linear(h, e)

    def features(self, x):
        return F.relu(self.encoder(x))

    def forward(self, x):
        return F.normalize(self.project(self.features(x)), dim=-1)


class Items:
    def __init__(self, n_ids, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.signal = torch.randn(n_ids, 30, generator=self.g) * 0.6
        self.nuisance = torch.randn(6, 30, generator=torch.Generator().manual_seed(42)) * 1.5
        self.n = n_ids

    def view(self, ids):
        style = torch.randn(len(ids), 6, generator=self.g)
        return self.signal[ids] + style @ self.nuisance + 0.15 * torch.randn(len(ids), 30, generator=self.g)

    def triplets(self, bs):
        a = torch.randint(0, self.n, (bs,), generator=self.g)
        neg = (a + torch.randint(1, self.n, (bs,), generator=self.g)) % self.n
        return self.view(a), self.view(a), self.view(neg)


@torch.no_grad()
def recall_at_1(model, items):
    model.eval()
    ids = torch.arange(items.n)
    gallery, query = model(items.view(ids)), model(items.view(ids))
    hit = (query @ gallery.T).argmax(1) == ids
    model.train()
    return hit.float().mean().item()


def main(steps=400):
    torch.manual_seed(0)
    train_items, test_items = Items(200, 1), Items(50, 2)
    model = TripletModel()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.TripletMarginLoss(margin=0.4)
    for step in range(steps):
        a, p, n = train_items.triplets(64)
        loss = loss_fn(model(a), model(p), model(n))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f} recall {recall_at_1(model, test_items):.3f}")
    print(f"final loss {loss.item():.4f} recall@1 {recall_at_1(model, test_items):.3f}")


main()
