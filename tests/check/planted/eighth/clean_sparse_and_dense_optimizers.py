# Sparse gradients for the table, dense ones for the rest: two optimizers, one backward
import torch
from torch import nn

torch.manual_seed(6)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(100, 8, sparse=True)
        self.top = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, i):
        return self.top(self.table(i)).squeeze(-1)


net = Net()
sparse = torch.optim.SparseAdam(net.table.parameters(), lr=0.02)
dense = torch.optim.Adam(net.top.parameters(), lr=0.01)
i = torch.randint(0, 100, (800,))
y = torch.randn(100)[i]
for epoch in range(4):
    for rows in torch.randperm(800).split(80):
        loss = nn.functional.mse_loss(net(i[rows]), y[rows])
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
    print(loss.item())
