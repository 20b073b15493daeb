import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SparseNet(nn.Module):
    """Small classifier whose second layer is supposed to be sparsely active."""

    def __init__(self, in_dim=16, hidden=32, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(in_dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(2 * hidden, classes)
        nn.init.constant_(self.fc2.bias, -8.0)  # BUG dead-units

    def forward(self, x):
        h1 = torch.tanh(self.fc1(x))
        h2 = torch.relu(self.fc2(h1))
        return self.out(torch.cat([h1, h2], dim=1))


def rings(n):
    y = torch.randint(0, 4, (n,))
    direction = F.normalize(torch.randn(n, 16), dim=1)
    radius = 1.0 + y.float()
    return direction * (radius + 0.15 * torch.randn(n))[:, None], y


x, y = rings(2000)
x_test, y_test = rings(400)
model = SparseNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for idx in torch.randperm(2000).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc:.3f}")
