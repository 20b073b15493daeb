"""Segmentation of shapes at a lower resolution."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    def __init__(self, n, size=24, out=16):
        self.images = 0.3 * torch.randn(n, 1, size, size)
        self.masks = torch.zeros(n, size, size, dtype=torch.long)
        for k in range(n):
            a, b, c, d = torch.randint(0, size - 10, (4,)).tolist()
            self.images[k, 0, a : a + 9, b : b + 9] += 1
            self.masks[k, a : a + 9, b : b + 9] = 3
            self.images[k, 0, c : c + 8, d : d + 8] -= 1
            self.masks[k, c : c + 8, d : d + 8] = 1
        self.out = out

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        size = (self.out, self.out)
        image = F.interpolate(self.images[index][None], size=size, mode="bilinear", align_corners=False)[0]
        mask = self.masks[index][None, None].float()
        mask = F.interpolate(mask, size=size, mode="nearest")
        return image, mask[0, 0].long()


class FCN(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.a = nn.Conv2d(1, 12, 3, padding=1)
        self.b = nn.Conv2d(12, 12, 3, padding=1)
        self.c = nn.Conv2d(12, classes, 1)

    def forward(self, x):
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


def main():
    torch.manual_seed(23)
    loader = DataLoader(Shapes(80), batch_size=16, shuffle=True)
    model = FCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(4):
        total = 0.0
        for images, masks in loader:
            loss = F.cross_entropy(model(images), masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(images)
        print(f"epoch {epoch} loss {total / 80:.4f}")


if __name__ == "__main__":
    main()
