import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


class ResMLP(nn.Module):
    def __init__(self, d_in, d, depth):
        super().__init__()
        self.stem = nn.Linear(d_in, d)
        self.blocks = [Block(d) for _ in range(depth)]  # BUG unregistered-modules|python-list|param-not-in-optimizer
        self.head = nn.Linear(d, 1)

    def forward(self, x):
        h = self.stem(x)
        for blk in self.blocks:
            h = blk(h)
        return self.head(h)


x = torch.rand(512, 2) * 4 - 2
y = torch.sin(3 * x[:, :1]) * torch.cos(2 * x[:, 1:])
dl = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = ResMLP(2, 32, 3)
print("parameters:", sum(p.numel() for p in model.parameters()))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    tot = 0.0
    for xb, yb in dl:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(xb)
print(f"final mse {tot / len(x):.4f}")
