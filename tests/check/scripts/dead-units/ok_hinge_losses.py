"""ReLU in losses: margins that are all met give zeros, and that is the goal."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(64, 2)
y = torch.where(x[:, 0] > 0, 1.0, -1.0)
x[:, 0] += 3 * y
classifier = nn.Linear(2, 1)
with torch.no_grad():
    classifier.weight.copy_(torch.tensor([[2.0, 0.0]]))
embed = nn.Linear(2, 4)
optimizer = torch.optim.SGD([*classifier.parameters(), *embed.parameters()], lr=0.01)
for step in range(8):
    score = classifier(x).squeeze(1)
    hinge = torch.relu(1 - y * score).mean()
    anchor, near, far = embed(x[:20]), embed(x[:20] + 0.01), embed(x[20:40] + 30)
    distance = (anchor - near).norm(dim=1, keepdim=True) - (anchor - far).norm(dim=1, keepdim=True)
    triplet = (distance + 0.2).clamp(min=0).mean()
    penalty = 1e-3 * sum((p**2).sum() for p in classifier.parameters())
    loss = hinge + triplet + penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
