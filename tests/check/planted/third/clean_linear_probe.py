"""Linear probe on a frozen backbone with batch norm kept in evaluation mode on purpose."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.AvgPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.GELU(), nn.AdaptiveAvgPool2d(2),
        )

    def forward(self, x):
        return self.body(x).flatten(1)


def images(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 12, 12)
    x[y == 1, :, :6] += 0.8
    x[y == 2, :, :, :6] += 0.8
    return TensorDataset(x, y)


backbone = Backbone()
backbone.requires_grad_(False)
probe = nn.Linear(64, 3)
opt = torch.optim.SGD(probe.parameters(), lr=0.5, momentum=0.9)

# running statistics of the untrained backbone are estimated once
backbone.train()
with torch.no_grad():
    for _ in range(20):
        backbone(images(64).tensors[0])
backbone.eval()

train_loader = DataLoader(images(512), batch_size=64, shuffle=True)
val_x, val_y = images(128).tensors
for epoch in range(6):
    for x, y in train_loader:
        with torch.no_grad():
            z = backbone(x)
        loss = nn.functional.cross_entropy(probe(z), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    # train accuracy on the training loader, to compare with the validation rows
    with torch.no_grad():
        train_acc = sum((probe(backbone(x)).argmax(1) == y).sum().item() for x, y in train_loader) / 512
        val_acc = (probe(backbone(val_x)).argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} train acc {train_acc:.3f} val acc {val_acc:.3f}")
