import torch
from torch import nn
from torch.nn import functional as F


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, reduction="none")
        pt = torch.exp(ce)  # <- finding
        return ((1 - pt) ** self.gamma * ce).mean()


torch.manual_seed(0)
x, y = torch.randn(300, 10), torch.randint(0, 5, (300,))
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
criterion = FocalLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
