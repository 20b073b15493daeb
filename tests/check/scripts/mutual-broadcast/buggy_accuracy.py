"""Binary classification: the loss is right, the accuracy compares every prediction with every label."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
features = torch.randn(40, 5)
labels = (features.sum(dim=1) > 0).float()

net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for epoch in range(8):
    logits = net(features)
    loss = F.binary_cross_entropy_with_logits(logits.squeeze(1), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    guesses = (net(features) > 0).float()
    accuracy = (guesses == labels).float().mean()  # <- finding
print(f"accuracy {accuracy:.2f}")
