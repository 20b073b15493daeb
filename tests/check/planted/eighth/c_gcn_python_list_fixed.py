import torch
import torch.nn as nn
import torch.nn.functional as F


class GCN(nn.Module):
    """A graph convolutional network of any depth."""

    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.readout = nn.Linear(sizes[-1], 2)

    def forward(self, x, adj):
        for layer in self.layers:
            x = F.relu(adj @ layer(x))
        return self.readout(x)


torch.manual_seed(5)
n = 80
community = torch.arange(n) % 2
link = torch.where(community[:, None] == community[None, :], 0.3, 0.05)
adj = (torch.rand(n, n) < link).float()
adj = ((adj + adj.T) > 0).float() + torch.eye(n)
norm = adj.sum(1).rsqrt()
adj = norm[:, None] * adj * norm[None, :]
x = torch.randn(n, 8) + 0.3 * community[:, None]
train = torch.arange(n) < 40
model = GCN([8, 16, 16])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(40):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, adj)[train], community[train])
    loss.backward()
    optimizer.step()
print("loss", loss.item())
