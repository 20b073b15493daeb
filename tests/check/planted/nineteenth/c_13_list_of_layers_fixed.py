"""GNN by hand on a random community graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, adj, h):
        return adj @ (h @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.convs = nn.ModuleList([GraphConv(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self.readout = nn.Linear(dims[-1], 3)

    def forward(self, adj, h):
        for conv in self.convs:
            h = F.relu(conv(adj, h))
        return self.readout(F.dropout(h, 0.2, self.training))


def community_graph(n, k):
    label = torch.arange(n) % k
    p = torch.where(label[:, None] == label[None, :], 0.2, 0.02)
    a = torch.bernoulli(p)
    a = torch.triu(a, 1)
    a = a + a.T + torch.eye(n)
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :], label


torch.manual_seed(4)
adj, label = community_graph(150, 3)
feat = torch.randn(150, 8) + F.one_hot(label, 8) * 0.8
train_mask = torch.rand(150) < 0.4
model = GCN([8, 16, 16])
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(40):
    model.train()
    loss = F.cross_entropy(model(adj, feat)[train_mask], label[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 10 == 0:
        model.eval()
        with torch.no_grad():
            acc = (model(adj, feat).argmax(1) == label)[~train_mask].float().mean()
        print(epoch, loss.item(), acc.item())
