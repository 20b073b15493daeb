import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


def make_graph():
    n = int(torch.randint(4, 9, (1,)))
    x = torch.randn(n, 6)
    src = torch.arange(n)
    dst = (src + 1) % n
    edges = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    y = (x[:, 0] * x[dst, 0]).mean()
    return x, edges, y


def collate(graphs):
    xs, edges, batch, ys = [], [], [], []
    start = 0
    for k, (x, e, y) in enumerate(graphs):
        xs.append(x)
        edges.append(e)  # <- finding
        batch.append(torch.full((len(x),), k))
        ys.append(y)
        start += len(x)
    return torch.cat(xs), torch.cat(edges, 1), torch.cat(batch), torch.stack(ys)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(6, 32)
        self.message = nn.Linear(64, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x, edges, batch, count):
        h = self.lift(x).relu()
        m = self.message(torch.cat([h[edges[0]], h[edges[1]]], 1)).relu()
        h = h + torch.zeros_like(h).index_add(0, edges[1], m)
        pooled = torch.zeros(count, 32).index_add(0, batch, h)
        return self.out(pooled).squeeze(1)


graphs = [make_graph() for _ in range(240)]
loader = DataLoader(graphs, batch_size=16, shuffle=True, collate_fn=collate)
model = GNN()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    total = 0.0
    for x, edges, batch, y in loader:
        loss = nn.functional.mse_loss(model(x, edges, batch, len(y)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
    print(f"epoch {epoch} loss {total / len(graphs):.4f}")
