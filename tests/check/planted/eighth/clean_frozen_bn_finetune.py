# Fine-tuning with batch norm kept in evaluation mode on purpose, small batches
import torch
from torch import nn

torch.manual_seed(1)
trunk = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU())
x = torch.randn(300, 10)
y = (x[:, 0] > 0).long()
first = nn.Linear(32, 2)
opt = torch.optim.Adam([*trunk.parameters(), *first.parameters()], lr=0.01)
for _ in range(30):
    opt.zero_grad()
    nn.functional.cross_entropy(first(trunk(x)), y).backward()
    opt.step()


class FineTuned(nn.Module):
    def __init__(self, trunk):
        super().__init__()
        self.trunk = trunk
        self.head = nn.Linear(32, 2)

    def train(self, mode=True):
        super().train(mode)
        for m in self.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.eval()
        return self

    def forward(self, x):
        return self.head(self.trunk(x))


model = FineTuned(trunk)
y2 = (x[:, 1] > 0).long()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
model.train()
for epoch in range(4):
    for rows in torch.randperm(300).split(10):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y2[rows]).backward()
        opt.step()
model.eval()
with torch.no_grad():
    print((model(x).argmax(1) == y2).float().mean().item())
