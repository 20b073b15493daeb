import torch
from torch import nn

torch.manual_seed(0)


class SumConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin_self = nn.Linear(d_in, d_out)
        self.lin_nbr = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        msg = self.lin_nbr(x)[src]
        agg = torch.zeros(x.size(0), msg.size(1))
        agg = agg.index_add(0, dst, msg)
        return self.lin_self(x) + agg


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = SumConv(3, 24)
        self.head = nn.Linear(24, 1)

    def forward(self, x, edge_index):
        return self.head(torch.relu(self.conv(x, edge_index))).squeeze(1)


n_nodes, n_edges = 120, 700
x = torch.randn(n_nodes, 3)
edges = torch.randint(0, n_nodes, (2, n_edges))
adj = torch.zeros(n_nodes, n_nodes)
for s, d in edges.t().tolist():
    adj[d, s] += 1
y = 0.3 * (adj @ x)[:, 0]
train_mask = torch.rand(n_nodes) < 0.7

gnn = GNN()
opt = torch.optim.Adam(gnn.parameters(), lr=1e-2)
for epoch in range(150):
    pred = gnn(x, edges)
    loss = nn.functional.mse_loss(pred[train_mask], y[train_mask])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 50 == 49:
        test = nn.functional.mse_loss(pred[~train_mask], y[~train_mask]).item()
        print(f"epoch {epoch + 1} train {loss.item():.4f} test {test:.4f} var {y.var().item():.4f}")
