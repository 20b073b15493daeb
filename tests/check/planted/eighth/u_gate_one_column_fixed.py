# Multiple instance learning: a bag of instances, weights from an attention gate
import torch
from torch import nn


class MIL(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(8, 24), nn.ReLU())
        self.gate = nn.Sequential(nn.Linear(24, 12), nn.Tanh(), nn.Linear(12, 1))
        self.out = nn.Linear(24, 1)

    def forward(self, bags):                       # (bag, instance, feature)
        h = self.embed(bags)
        a = torch.softmax(self.gate(h), dim=1)
        return self.out((a * h).sum(1)).squeeze(1)


torch.manual_seed(22)
bags = torch.randn(300, 10, 8)
y = (bags[:, :, 0].amax(1) > 1.6).float()
model = MIL()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(bags[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
