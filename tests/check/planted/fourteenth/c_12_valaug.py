import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset


class RandomShiftNoise:
    def __init__(self, shift=4, std=0.8, p_erase=0.7):
        self.shift, self.std, self.p_erase = shift, std, p_erase

    def __call__(self, img):
        s = int(torch.randint(-self.shift, self.shift + 1, (1,)))
        img = torch.roll(img, s, dims=-1)
        if torch.rand(()) < self.p_erase:
            r = int(torch.randint(0, 8, (1,)))
            img = img.clone()
            img[:, r:r + 6] = 0
        return img + self.std * torch.randn_like(img)


class Patterns(Dataset):
    def __init__(self, n, transform=None):
        g = torch.Generator().manual_seed(123)
        base = torch.randn(6, 1, 12, 12, generator=g)
        self.labels = torch.randint(0, 6, (n,), generator=g)
        self.images = base[self.labels] + 0.4 * torch.randn(n, 1, 12, 12, generator=g)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i]
        if self.transform is not None:
            img = self.transform(img)
        return img, self.labels[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 9, 6)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def main():
    torch.manual_seed(0)
    n = 600
    perm = torch.randperm(n).tolist()
    full = Patterns(n, transform=RandomShiftNoise())  # BUG validation-augmented
    train_set = Subset(full, perm[:450])
    val_set = Subset(full, perm[450:])  # BUG validation-augmented
    train_dl = DataLoader(train_set, batch_size=30, shuffle=True)
    val_dl = DataLoader(val_set, batch_size=75)

    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for ep in range(8):
        model.train()
        for x, y in train_dl:
            opt.zero_grad()
            F.cross_entropy(model(x), y).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(x).argmax(1) == y).sum().item() for x, y in val_dl)
        print(f"epoch {ep} val acc {hits / len(val_set):.3f}")
    print(f"final val acc {hits / len(val_set):.3f}")


if __name__ == "__main__":
    main()
