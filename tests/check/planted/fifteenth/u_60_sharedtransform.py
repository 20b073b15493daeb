"""Augmented training set, plain validation set."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split


class Images(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        img = self.x[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.y[i]


def augment(img):
    if torch.rand(1).item() < 0.5:
        img = img.flip(-1)
    return img + 0.1 * torch.randn_like(img)


def make_sets(x, y):
    full = Images(x, y, transform=augment)
    train, val = random_split(full, [400, 100])
    val.dataset.transform = None  # BUG augmentation-shared
    return train, val


torch.manual_seed(0)
protos = torch.randn(4, 1, 8, 8)
y = torch.randint(0, 4, (500,))
x = protos[y] + 0.8 * torch.randn(500, 1, 8, 8)
train_set, val_set = make_sets(x, y)  # BUG augmentation-shared
train_loader = DataLoader(train_set, batch_size=25, shuffle=True)
val_loader = DataLoader(val_set, batch_size=50)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        ok = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val_loader)
    print(epoch, loss.item(), ok / 100)
