import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Leaves(Dataset):
    """Synthetic leaf photographs: the class decides the stripe direction and the tint."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 3, (n,), generator=g)
        grid = torch.arange(16).float()
        stripes = torch.stack([
            torch.sin(grid)[None, :].expand(16, 16),
            torch.sin(grid)[:, None].expand(16, 16),
            torch.sin(grid[:, None] + grid[None, :]),
        ])
        self.x = stripes[self.y][:, None].repeat(1, 3, 1, 1)
        self.x = self.x + 1.5 * torch.randn(self.x.shape, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(0)
train_loader = DataLoader(Leaves(256, 0), batch_size=32, shuffle=True)
val_loader = DataLoader(Leaves(96, 1), batch_size=32)

model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(),
    nn.AvgPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(),
    nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(256, 3),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

    model.eval()
    val_loss, correct = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val_loss += criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
    print(f"[{epoch}] val loss {val_loss / 96:.3f} acc {correct / 96:.3f}")
