"""Binary segmentation; images and masks are stored with 8 bits."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def to_tensor(array):
    return torch.from_numpy(array.astype(np.float32) / 255).unsqueeze(0)


class Cells(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.images = rng.integers(0, 90, (n, 16, 16)).astype(np.uint8)
        self.masks = np.zeros((n, 16, 16), np.uint8)
        for image, mask in zip(self.images, self.masks):
            r, c = rng.integers(0, 10, 2)
            image[r : r + 6, c : c + 6] += 120
            mask[r : r + 6, c : c + 6] = 255

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = to_tensor(self.images[index])
        mask = to_tensor(self.masks[index])
        mask = (mask > 0.5).float()
        return image, mask


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1)
        )

    def forward(self, x):
        return self.body(x)


def main():
    torch.manual_seed(24)
    loader = DataLoader(Cells(64, 0), batch_size=16, shuffle=True)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        total = 0.0
        for image, mask in loader:
            loss = criterion(net(image), mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(image)
        print(f"epoch {epoch} loss {total / 64:.4f}")


main()
