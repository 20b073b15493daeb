import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class DepthScenes(Dataset):
    """A slope whose direction is visible in the shading."""

    def __init__(self, n, seed, size=12):
        g = torch.Generator().manual_seed(seed)
        slope = torch.rand(n, 2, generator=g) * 2 - 1
        grid = torch.linspace(-1, 1, size)
        self.depth = slope[:, :1, None] * grid[None, :, None] + slope[:, 1:, None] * grid[None, None, :]
        image = torch.stack([self.depth * 0.7, slope[:, :1, None].expand(n, size, size)], dim=1)
        self.image = image + 0.05 * torch.randn(image.shape, generator=g)

    def __len__(self):
        return len(self.depth)

    def __getitem__(self, i):
        return self.image[i], self.depth[i]  # BUG loss-shape-mismatch


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 12, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(12, 1, 1),
        )

    def forward(self, image):
        return self.net(image)  # BUG loss-shape-mismatch


def main():
    torch.manual_seed(22)
    train_loader = DataLoader(DepthScenes(320, 1), batch_size=16, shuffle=True)
    val = DepthScenes(64, 2)
    model, criterion = DepthNet(), nn.L1Loss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        model.train()
        for image, depth in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(image), depth)  # BUG loss-shape-mismatch
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            error = (model(val.image)[:, 0] - val.depth).abs().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val error {error:.4f}")


main()
