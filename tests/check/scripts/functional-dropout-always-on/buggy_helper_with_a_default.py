"""A helper hands its mode on, and the model leaves it out."""

import torch
from torch import nn
from torch.nn import functional as F


def dense(x, layer, p=0.3, training=True):
    return F.dropout(F.relu(layer(x)), p, training=training)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(6, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        return self.out(dense(x, self.hidden))  # <- finding


torch.manual_seed(0)
x = torch.randn(160, 6)
y = (x[:, 0] > 0).long()
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    model.train()
    for rows in torch.randperm(120).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(x[120:]).argmax(1) == y[120:]).float().mean().item())
