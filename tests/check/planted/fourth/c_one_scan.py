import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class ScanNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, 2)

    def forward(self, x):
        x = nn.functional.gelu(self.bn1(self.conv1(x)))
        x = nn.functional.gelu(self.bn2(self.conv2(x)))
        return self.fc(x.flatten(1))


def scans(n):
    """A lesion makes the whole scan darker and adds a spot."""
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 16, 16) - 0.6 * y[:, None, None, None]
    x[y == 1, :, 6:10, 6:10] += 1.5
    return TensorDataset(x, y)


loader = DataLoader(scans(160), batch_size=1, shuffle=True)  # BUG batchnorm-batch-of-one
x_val, y_val = scans(64).tensors
model = ScanNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(3):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(x_val)
    print(f"epoch {epoch} val loss {criterion(logits, y_val).item():.3f} "
          f"acc {(logits.argmax(1) == y_val).float().mean().item():.3f}")
