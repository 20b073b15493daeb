"""Blob segmentation with a tiny U-Net."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, n, size=16, first=0):
        self.n, self.size, self.first = n, size, first

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.first + i)
        cy, cx = torch.rand(2, generator=g) * (self.size - 6) + 3
        yy, xx = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing="ij")
        mask = (((yy - cy) ** 2 + (xx - cx) ** 2) < 9).float()
        image = mask + 0.4 * torch.randn(self.size, self.size, generator=g)
        return image[None], mask[None]


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.down1 = block(1, base)
        self.down2 = block(base, base * 2)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.fuse = block(base * 2, base)
        self.final = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        merged = self.fuse(torch.cat([a, self.up(b)], dim=1))
        return self.final(merged)

    def predict(self, x):
        return torch.sigmoid(self(x))


def dice(prob, mask):
    hard = (prob > 0.5).float()
    return (2 * (hard * mask).sum() / (hard.sum() + mask.sum() + 1e-6)).item()


class Trainer:
    def __init__(self, model, train, valid, lr=0.01):
        self.model, self.train_loader, self.valid_loader = model, train, valid
        self.criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(4.0))  # BUG sigmoid-before-bce-logits
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def step(self, images, masks):
        output = self.model.predict(images)  # BUG sigmoid-before-bce-logits
        loss = self.criterion(output, masks)  # BUG sigmoid-before-bce-logits
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            losses = [self.step(*batch) for batch in self.train_loader]
            self.model.eval()
            with torch.no_grad():
                scores = [dice(self.model.predict(x), y) for x, y in self.valid_loader]
            print(epoch, sum(losses) / len(losses), sum(scores) / len(scores))


if __name__ == "__main__":
    torch.manual_seed(0)
    Trainer(
        UNet(),
        DataLoader(Blobs(96), batch_size=16, shuffle=True),
        DataLoader(Blobs(32, first=96), batch_size=16),
    ).fit(3)
