import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


def draw(rng, size=16):
    mask = np.zeros((size, size), dtype=np.uint8)
    top, left = rng.integers(0, size - 6, 2)
    mask[top : top + 6, left : left + 6] = 255
    image = mask.astype(np.float32) * 0.5 + rng.normal(60, 30, (size, size))
    return np.clip(image, 0, 255).astype(np.uint8), mask


class Squares(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = [draw(rng) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, mask = self.items[i]
        image = torch.from_numpy(image).float().div(255).unsqueeze(0)
        mask = torch.from_numpy(mask).float().div(255).unsqueeze(0)
        return image, mask


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 1, 1)
        )

    def forward(self, x):
        return self.net(x)


def dice(model, loader):
    model.eval()
    inter = size = 0.0
    with torch.no_grad():
        for image, mask in loader:
            pred = model(image) > 0
            true = mask > 0
            inter += 2.0 * (pred & true).sum().item()
            size += pred.sum().item() + true.sum().item()
    return inter / max(size, 1.0)


torch.manual_seed(6)
train_loader = DataLoader(Squares(240, 1), batch_size=24, shuffle=True)
val_loader = DataLoader(Squares(48, 2), batch_size=24)
model = Segmenter()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for image, mask in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(image), mask)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} dice {dice(model, val_loader):.3f}")
