import torch
import torch.nn as nn
import torch.nn.functional as F


class MeanConv(nn.Module):
    """edge_index is (2, E): row 0 sends, row 1 receives."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin_self = nn.Linear(d_in, d_out)
        self.lin_nbr = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x, edge_index):
        dst, src = edge_index  # BUG message-direction
        msg = x[src]
        agg = torch.zeros_like(x).index_add_(0, dst, msg)
        deg = torch.zeros(len(x)).index_add_(0, dst, torch.ones(len(dst)))
        agg = agg / deg.clamp(min=1).unsqueeze(1)
        return self.lin_self(x) + self.lin_nbr(agg)


class CitationGNN(nn.Module):
    def __init__(self, d, h, n_cls, p=0.2):
        super().__init__()
        self.c1, self.c2 = MeanConv(d, h), MeanConv(h, h)
        self.out = nn.Linear(h, n_cls)
        self.p = p

    def forward(self, x, ei):
        h = F.dropout(F.relu(self.c1(x, ei)), self.p, self.training)
        h = F.relu(self.c2(h, ei))
        return self.out(h)


def build_graph(n=500, d=8, deg=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=g)
    src = torch.randint(0, n, (n * deg,), generator=g)
    dst = torch.arange(n).repeat_interleave(deg)
    ei = torch.stack([src, dst])
    inflow = torch.zeros(n, d).index_add_(0, dst, x[src]) / deg
    y = (inflow[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
    perm = torch.randperm(n, generator=g)
    train = torch.zeros(n, dtype=torch.bool)
    train[perm[:300]] = True
    return x, ei, y, train, ~train


def main():
    torch.manual_seed(0)
    x, ei, y, train_mask, test_mask = build_graph()
    model = CitationGNN(x.shape[1], 32, 4)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
    for epoch in range(100):
        model.train()
        out = model(x, ei)
        loss = F.cross_entropy(out[train_mask], y[train_mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 25 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(x, ei).argmax(1)
            print(epoch, f"loss {loss.item():.3f} test {(pred == y)[test_mask].float().mean():.3f}")
    model.eval()
    with torch.no_grad():
        pred = model(x, ei).argmax(1)
    print(f"final test acc {(pred == y)[test_mask].float().mean():.3f}")


main()
