# Signature verification with a siamese network
import torch
import torch.nn as nn
import torch.nn.functional as F


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(20, 32)
        self.b = nn.Linear(32, 8)

    def embed(self, x):
        h = F.relu(self.a(x))
        h = F.dropout(h, 0.4)  # BUG functional-dropout-always-on
        return F.normalize(self.b(h), dim=1)

    def forward(self, left, right):
        return (self.embed(left) * self.embed(right)).sum(1)


torch.manual_seed(23)
writer = torch.randn(10, 20)


def pairs(n):
    one, two = torch.randint(0, 10, (n,)), torch.randint(0, 10, (n,))
    two = torch.where(torch.rand(n) < 0.5, one, two)
    return writer[one] + 0.3 * torch.randn(n, 20), writer[two] + 0.3 * torch.randn(n, 20), (one == two).float()


model = Siamese()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    model.train()
    left, right, same = pairs(64)
    loss = F.mse_loss(model(left, right), 2 * same - 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    left, right, same = pairs(300)
    print("verified", ((model(left, right) > 0) == same.bool()).float().mean().item())
