import random

import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class BlobSegmentation(Dataset):
    def __init__(self, n, augment):
        g = torch.Generator().manual_seed(n)
        self.imgs = 0.3 * torch.randn(n, 1, 16, 16, generator=g)
        self.masks = torch.zeros(n, 1, 16, 16)
        for i in range(n):
            r, c = torch.randint(0, 11, (2,), generator=g).tolist()
            self.masks[i, :, r:r + 5, c:c + 5] = 1
        self.imgs += self.masks
        self.augment = augment

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        img, mask = self.imgs[i], self.masks[i]
        if self.augment:
            if random.random() < 0.5:
                img = torch.flip(img, dims=[2])
                mask = torch.flip(mask, dims=[2])
        return img, mask


torch.manual_seed(0)
random.seed(0)
train_dl = DataLoader(BlobSegmentation(160, True), batch_size=16, shuffle=True)
val_x, val_m = BlobSegmentation(40, False).imgs, BlobSegmentation(40, False).masks
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for epoch in range(8):
    tot = 0.0
    for img, m in train_dl:
        loss = bce(net(img), m)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    with torch.no_grad():
        p = net(val_x) > 0
        iou = (p & (val_m > 0)).sum().item() / max((p | (val_m > 0)).sum().item(), 1)
    print(f"epoch {epoch} loss {tot / len(train_dl):.4f} val iou {iou:.3f}")
