# Siamese verification: `encode` is also used for the index, so somebody decorated it
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
        self.judge = nn.Linear(8, 1)

    @torch.no_grad()  # BUG gradient-cut
    def encode(self, x):
        return self.trunk(x)

    def forward(self, a, b):
        return self.judge((self.encode(a) - self.encode(b)).abs()).squeeze(-1)


torch.manual_seed(30)
a = torch.randn(300, 12)
same = torch.rand(300) < 0.5
b = torch.where(same[:, None], a + 0.2 * torch.randn(300, 12), torch.randn(300, 12))
model = Siamese()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    for rows in torch.randperm(300).split(30):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(a[rows], b[rows]), same[rows].float())
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
