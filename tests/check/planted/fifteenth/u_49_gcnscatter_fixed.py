"""Graph convolution written by hand for node classification."""
import torch
from torch import nn


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.self_lin = nn.Linear(d_in, d_out)
        self.nbr_lin = nn.Linear(d_in, d_out, bias=False)

    def aggregate(self, x, edge_index):
        src, dst = edge_index
        out = torch.zeros_like(x)
        out = out.index_add(0, dst, x[src])
        degree = torch.bincount(dst, minlength=len(x)).clamp(min=1)
        return out / degree.unsqueeze(1)

    def forward(self, x, edge_index):
        return self.self_lin(x) + self.nbr_lin(self.aggregate(x, edge_index))


class GNN(nn.Module):
    def __init__(self, d, hidden, classes):
        super().__init__()
        self.c1 = GraphConv(d, hidden)
        self.c2 = GraphConv(hidden, classes)

    def forward(self, x, edge_index):
        return self.c2(torch.relu(self.c1(x, edge_index)), edge_index)


def community_graph(n, k, degree=8):
    y = torch.arange(n) % k
    src = torch.arange(n).repeat_interleave(degree)
    same = torch.randint(0, n // k, (n * degree,)) * k + y[src]
    other = torch.randint(0, n, (n * degree,))
    dst = torch.where(torch.rand(n * degree) < 0.8, same, other)
    edges = torch.stack([torch.cat([src, dst]), torch.cat([dst, src])])
    return y, edges


torch.manual_seed(0)
y, edges = community_graph(300, 3)
x = nn.functional.one_hot(y, 3).float() + 1.2 * torch.randn(300, 3)
train_mask = torch.rand(300) < 0.5
model = GNN(3, 16, 3)
opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(60):
    logits = model(x, edges)
    loss = nn.functional.cross_entropy(logits[train_mask], y[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 20 == 19:
        acc = (logits.argmax(1) == y)[~train_mask].float().mean().item()
        print(epoch, loss.item(), acc)
