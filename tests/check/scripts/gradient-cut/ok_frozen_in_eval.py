"""A backbone that is kept in eval mode and run without a graph, though the optimizer was given all parameters; a mixture of experts
with straight-through choices."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU())
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList([nn.Linear(6, 1) for _ in range(3)])

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        soft = self.gate(features).softmax(dim=1)
        hard = F.one_hot(soft.argmax(dim=1), 3).float()
        choice = hard - soft.detach() + soft
        results = torch.cat([expert(features) for expert in self.experts], dim=1)
        return (choice * results).sum(dim=1)


torch.manual_seed(0)
net = Net().train()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(5):
    x = torch.randn(12, 4)
    loss = F.mse_loss(net(x), x.sum(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
