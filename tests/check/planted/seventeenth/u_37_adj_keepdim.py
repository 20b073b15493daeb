import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(36)
N = 150


def directed_graph():
    """Few hubs are cited by many; most nodes cite few."""
    weights = torch.exp(2.0 * torch.randn(N))
    adj = torch.zeros(N, N)
    for i in range(N):
        k = int(torch.randint(2, 30, ()))
        adj[i, torch.multinomial(weights, k)] = 1.0
    return adj


adj = directed_graph()
x = torch.randn(N, 8)
mean_of_neighbours = (adj @ x[:, :1]) / adj.sum(1, keepdim=True)
y = mean_of_neighbours[:, 0]


class MeanConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin_self = nn.Linear(d_in, d_out)
        self.lin_neigh = nn.Linear(d_in, d_out)

    def forward(self, x, adj):
        norm = adj / adj.sum(1)  # BUG mutual-broadcast
        return self.lin_self(x) + self.lin_neigh(norm @ x)


conv1, conv2 = MeanConv(8, 16), nn.Linear(16, 1)
params = list(conv1.parameters()) + list(conv2.parameters())
optimizer = torch.optim.Adam(params, lr=1e-2)
mask = torch.rand(N) < 0.7
for epoch in range(120):
    pred = conv2(torch.tanh(conv1(x, adj))).squeeze(1)
    loss = F.mse_loss(pred[mask], y[mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 30 == 29:
        print(epoch, loss.item(), F.mse_loss(pred[~mask], y[~mask]).item())
